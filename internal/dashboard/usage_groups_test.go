package dashboard_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/people"
)

// TestUsageGroups groups usage by key, model and tag, opens a group's parts, and compares it with the days before.
func TestUsageGroups(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	s.come("ada", people.Viewer)
	k := s.key(t, s.acme, "ada")
	tagged := func(e ledger.Entry, project string) ledger.Entry {
		e.Attribution = llm.Attribution{User: "u-" + project, Tags: []llm.Tag{{Name: "project", Value: project}}}
		return e
	}
	one, two, three := used(s.acme, ago(1, 0), "openai/gpt"), used(s.acme, ago(2, 0), "openai/gpt"), used(s.acme, ago(2, time.Minute), "openai/dear")
	one.Key, three.Usage[llm.Output] = k.ID, 500
	three.Cost = three.Price.Cost(&three.Usage, "")
	s.journal().apply(t, nil, tagged(one, "alpha"), tagged(two, "alpha"), tagged(three, "beta"), used(s.acme, ago(31, 0), "openai/old"))

	const page = "/accounts/acme/usage"
	text := s.see(t, page+"?group_by=key", ">By API key<", k.Label, "key="+k.ID, "17 %", "% more than in the 30 days before")
	if strings.Contains(text, ">By day and model<") {
		t.Error("grouped by key: got the table by day and model, too")
	}
	models := s.see(t, page+"?group_by=model&sort=cost", "model=openai%2Fdear")
	if strings.Index(models, "model=openai%2Fdear") > strings.Index(models, "model=openai%2Fgpt") {
		t.Error("by cost: got the dearest model last")
	}
	s.see(t, page+"?tag=project", ">By project<", "tag.project=alpha", "tag.project=beta", "group_by=tag%3Aproject")
	s.see(t, page+"?tag.project=alpha", "1 to 2 of 2", ">By day and model<", `name="tag.project"`)
	s.see(t, page+"?key="+k.ID, "1 to 1 of 1", k.Label, "All keys")
	s.see(t, page+"?group_by=user&tag.project=beta", "u-beta", "1 to 1 of 1")
	for _, query := range []string{"group_by=colour", "sort=luck", "group_by=model,model", "key=" + strings.Repeat("k", 65)} {
		if got := s.send(t, "GET", page+"?"+query, nil, nil); got.status != http.StatusUnprocessableEntity {
			t.Errorf("%s: got %d, want 422", query, got.status)
		}
	}
	got := s.send(t, "GET", page+".csv?group_by=tag%3Aproject,model&sort=cost", nil, nil).text
	lines := strings.Split(strings.TrimSpace(got), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[0], "tag:project,model,requests,tokens,") ||
		!strings.HasPrefix(lines[1], "alpha,openai/gpt,2,") || !strings.HasPrefix(lines[2], "beta,openai/dear,1,") {
		t.Errorf("the file of groups: got %s", got)
	}
}
