package dashboard_test

import (
	"encoding/csv"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/people"
	"weir/internal/refusal"
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
	if strings.Contains(text, ">By model<") {
		t.Error("grouped by key: got the table by model, too")
	}
	models := s.see(t, page+"?group_by=model&sort=cost", "model=openai%2Fdear")
	if strings.Index(models, "model=openai%2Fdear") > strings.Index(models, "model=openai%2Fgpt") {
		t.Error("by cost: got the dearest model last")
	}
	s.see(t, page+"?tag=project", ">By project<", "tag.project=alpha", "tag.project=beta", "group_by=tag%3Aproject")
	s.see(t, page+"?tag.project=alpha", "1 to 1 of 1", ">By model<", `name="tag.project"`)
	s.see(t, page+"?key="+k.ID, "1 to 1 of 1", k.Label, "All keys")
	theirs := s.key(t, s.other, "label of theirs")
	if text := s.see(t, page+"?key="+theirs.ID, "All keys"); strings.Contains(text, theirs.Label) {
		t.Error("the key of another account: got its label")
	}
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

// TestUsageRangesAndMetrics draws each metric over each range: the last hour by minute, a day by hour, groups beyond the
// top added up. Dates that differ from the range's own count.
func TestUsageRangesAndMetrics(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	s.come("ada", people.Viewer)
	var all []ledger.Entry
	for i := range 8 {
		e := used(s.acme, now.Add(-time.Duration(i)*time.Minute-time.Second), "openai/m"+string(rune('a'+i)))
		e.Usage[llm.Reasoning] = int64(i)
		e.Cost = e.Price.Cost(&e.Usage, "")
		e.Attribution.User = "u"
		all = append(all, e)
	}
	failed := used(s.acme, now.Add(-2*time.Hour), "openai/bad")
	failed.Settlement = ledger.Settlement{Outcome: ledger.OutcomeFailed, Provenance: ledger.Exact, Status: 500}
	s.journal().apply(t, nil, append(all, failed, used(s.acme, now.Add(-30*time.Hour), "openai/old"))...)
	const page = "/accounts/acme/usage"
	hour := s.see(t, page+"?range=1h", "Spend by minute", "11:59", "(other)", "1 to 8 of 8", "from=2026-11-21T11%3A01%3A00Z", "top=5")
	if strings.Contains(hour, "<wbr>old") {
		t.Error("the last hour: got the model of yesterday")
	}
	s.see(t, page+"?range=24h&metric=errors", "Failed attempts by hour", "bad", "/admin/v1/accounts/acme/uses?")
	s.see(t, page+"?range=1h&metric=first_token&group_by=user", "Time to first token", "Median", ">8<")
	s.see(t, page+"?range=90d&metric=first_token", "Time to first token", "first_token=true")
	s.see(t, page+"?metric=reasoning&user=u", "Reasoning tokens by day", "28", `name="user"`)
	s.see(t, page+"?range=12m&group_by=none", "Spend by month")
	s.see(t, page+"?range=24h&start_date=2026-11-20&end_date=2026-11-21", "Spend by hour", "since 20 Nov 2026, 13:00 UTC")
	s.see(t, page+"?range=24h&start_date=2026-11-19&end_date=2026-11-21", "19 Nov to 21 Nov 2026")
	s.see(t, page+"?range=30d&metric=first_token&group_by=user", "1 Nov") // only two days have usage
	for _, query := range []string{"metric=luck", "range=2h", "metric=refused&user=u", "provider=" + strings.Repeat("p", 300)} {
		if got := s.send(t, "GET", page+"?"+query, nil, nil); got.status != http.StatusUnprocessableEntity {
			t.Errorf("%s: got %d, want 422", query, got.status)
		}
	}
	file := s.send(t, "GET", page+".csv?range=1h&group_by=minute,model", nil, nil).text
	if lines := strings.Split(strings.TrimSpace(file), "\n"); len(lines) != 9 || !strings.HasPrefix(lines[1], "2026-11-21T11:59:00Z,openai/ma,1,") {
		t.Errorf("the file of an hour: got %s", file)
	}
}

// TestUsageOfAllAccounts shows all accounts to operators only, by name, with links to each account's page.
func TestUsageOfAllAccounts(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	k := s.key(t, s.other, "bob")
	keyed := used(s.other, ago(2, 0), "openai/gpt")
	keyed.Key = k.ID
	s.journal().apply(t, nil, used(s.acme, ago(1, 0), "openai/gpt"), keyed, used(s.other, ago(2, time.Second), "house/small"))
	s.come("olga", "")
	text := s.see(t, "/operator/usage", "Usage of all accounts", "1 to 2 of 2", ">acme<", `href="/accounts/other/usage?range=30d"`, "/admin/v1/usage?", "$0.006825")
	if strings.Index(text, `"/accounts/other/usage?`) > strings.Index(text, `"/accounts/acme/usage?`) {
		t.Error("got the account with the lower spend first")
	}
	if text := s.see(t, "/operator/usage?sort=name", `aria-sort="ascending"`); strings.Contains(text, `aria-sort="descending"`) {
		t.Error("by name: got two orders")
	}
	s.see(t, "/operator/usage?group_by=key", "account, API key", k.Label)
	s.see(t, "/operator/usage?provider=house", "1 to 1 of 1", `name="provider"`)
	if got := s.send(t, "GET", "/operator/usage.csv?group_by=day,account", nil, nil); got.status != http.StatusOK || strings.Count(got.text, "\n") != 3 {
		t.Errorf("file: got %d, %s; want two rows", got.status, got.text)
	} else if !strings.Contains(got.text, "day,account,account_name,requests,") || !strings.Contains(got.text, ","+s.acme.ID+",acme,") {
		t.Errorf("file: got %s; want ids and names of accounts", got.text)
	}
	s.come("ada", people.Owner)
	for _, path := range []string{"/operator/usage", "/operator/usage.csv"} {
		if got := s.send(t, "GET", path, nil, nil); got.status != http.StatusForbidden && got.status != http.StatusNotFound {
			t.Errorf("%s for an owner: got %d, want it refused", path, got.status)
		}
	}
}

// TestUsageOfRefusedRequests counts refused requests by reason and by key; those beyond the largest groups are added up.
func TestUsageOfRefusedRequests(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	k := s.key(t, s.acme, "ada")
	at := now.Add(-30 * time.Minute).Unix()
	of := func(key string, reason llm.Code, n int64) refusal.Count {
		return refusal.Count{Bucket: refusal.Bucket{Account: s.acme.ID, Minute: at, Key: key, Reason: reason, Model: "fast"}, N: n}
	}
	must.Do(t, s.store.Refusals.Write(t.Context(), refusal.Batch{Counts: []refusal.Count{
		of(k.ID, llm.CodeRateLimited, 40), of("", llm.CodeModelNotFound, 7),
	}}))
	s.come("ada", people.Viewer)
	s.see(t, "/accounts/acme/usage?metric=refused&range=24h", "Refused requests by hour", "total 47", "Rate limit", "Unknown model", "/admin/v1/accounts/acme/refusals?", "Data table")
	text := s.see(t, "/accounts/acme/usage?metric=refused&start_date=2026-11-01&end_date=2026-11-21", `<option value="reason" selected>`, "to=2026-11-22T00")
	for _, group := range []string{`<option value="provider"`, `<option value="user"`, `name="tag"`} {
		if strings.Contains(text, group) {
			t.Errorf("refused requests: got %s", group)
		}
	}
	s.see(t, "/accounts/acme/usage?group_by=reason", `<option value="model" selected>`)
	s.see(t, "/accounts/acme/usage?metric=refused&range=1h&group_by=key", "by minute", k.Label, "(other)")
	s.see(t, "/accounts/acme/usage?metric=refused&model=none", "No refused requests")
	s.come("olga", "")
	s.see(t, "/operator/usage?metric=refused&range=7d", "acme", "total 47", "/admin/v1/refusals?")
}

// TestRefusedRequestsAreAFile downloads all refused requests, more than a report has groups, and adds them up.
func TestRefusedRequestsAreAFile(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	k := s.key(t, s.acme, "ada")
	var counts []refusal.Count
	for i := range int64(refusal.MostSums + 5) {
		counts = append(counts, refusal.Count{Bucket: refusal.Bucket{
			Account: s.acme.ID, Minute: now.Add(-time.Hour).Unix() / 60 * 60, Key: k.ID, Reason: llm.CodeRateLimited,
			Model: fmt.Sprintf("m%04d", i),
		}, N: 2})
	}
	counts = append(counts, refusal.Count{Bucket: refusal.Bucket{
		Account: s.other.ID, Minute: now.Unix(), Reason: llm.CodeRateLimited, Model: "=foreign",
	}, N: 100})
	must.Do(t, s.store.Refusals.Write(t.Context(), refusal.Batch{Counts: counts}))
	s.come("ada", people.Viewer)
	s.see(t, "/accounts/acme/usage?metric=refused", "/accounts/acme/usage.csv?metric=refused&amp;range=30d")
	for path, want := range map[string]int{"/accounts/acme/usage.csv?metric=refused": 2010, "/accounts/acme/usage.csv?metric=refused&model=m0007": 2} {
		got := s.send(t, "GET", path, nil, nil)
		rows := must.Get(csv.NewReader(strings.NewReader(got.text)).ReadAll())(t)
		total := 0
		for _, row := range rows[1:] {
			total += must.Get(strconv.Atoi(row[7]))(t)
		}
		must.Equal(t, total, want, "refused requests of %s", path)
		must.Equal(t, rows[1][2:6], []string{"acme", k.ID, k.Label, "RATE_LIMITED"}, "first row of %s", path)
	}
	if got := s.send(t, "GET", "/accounts/acme/usage.csv?metric=refused&user=u", nil, nil); got.status != http.StatusBadRequest {
		t.Errorf("with an end user: got %d, want 400", got.status)
	}
}
