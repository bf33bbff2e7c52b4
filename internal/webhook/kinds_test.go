package webhook_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"weir/internal/must"
	"weir/internal/webhook"
)

var update = flag.Bool("update", false, "write the events into docs/webhooks.md")

// TestDocumentListsEvents checks that the page has every event with its example.
func TestDocumentListsEvents(t *testing.T) {
	t.Parallel()
	const begin, end = "<!-- events: written by go test ./internal/webhook -update -->\n", "<!-- end of events -->"
	path := filepath.Join("..", "..", "docs", "webhooks.md")
	page, err := os.ReadFile(path)
	must.Do(t, err)
	before, rest, ok := strings.Cut(string(page), begin)
	old, after, ended := strings.Cut(rest, end)
	if !ok || !ended {
		t.Fatal("docs/webhooks.md has no place for events")
	}
	want := document(t)
	if *update {
		must.Do(t, os.WriteFile(path, []byte(before+begin+want+end+after), 0o644))
		return
	}
	if old != want {
		t.Error("the events of docs/webhooks.md are not current: run the test with -update")
	}
}

func document(t *testing.T) string {
	var b strings.Builder
	b.WriteString("\n| event | told to | |\n|---|---|---|\n")
	to := map[webhook.Audience]string{
		webhook.ToAccount: "the account", webhook.ToEverybody: "everybody", webhook.ToOperators: "the installation alone",
	}
	for _, k := range webhook.Kinds() {
		fmt.Fprintf(&b, "| [`%s`](#%s) | %s | %s |\n", k.Type, strings.ReplaceAll(string(k.Type), ".", ""), to[k.To], k.About)
	}
	b.WriteString("| `webhook.test` | one endpoint | Somebody asked for it: `data.webhook_id` is the endpoint. |\n")
	for _, k := range webhook.Kinds() {
		payload := must.Get(k.Example.Payload())(t)
		var pretty bytes.Buffer
		must.Do(t, json.Indent(&pretty, payload, "", "  "))
		fmt.Fprintf(&b, "\n### %s\n\n```json\n%s\n```\n", k.Type, &pretty)
	}
	b.WriteString("\n")
	return b.String()
}

// TestPayloadsFitStandard checks the examples against the standard.
func TestPayloadsFitStandard(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^[a-z_]+\.[a-z_]+$`)
	seen := map[webhook.Type]bool{}
	for _, k := range webhook.Kinds() {
		payload, err := k.Example.Payload()
		if err != nil || len(payload) > 20<<10 || k.About == "" || seen[k.Type] || !form.MatchString(string(k.Type)) || k.Example.Type != k.Type {
			t.Errorf("%s: got %s, %v", k.Type, payload, err)
		}
		seen[k.Type] = true
		var top map[string]json.RawMessage
		must.Do(t, json.Unmarshal(payload, &top))
		for _, name := range []string{"id", "type", "version", "timestamp", "data"} {
			if top[name] == nil {
				t.Errorf("%s: %s has no %s", k.Type, payload, name)
			}
		}
		if bytes.Contains(payload, []byte(":null")) && !bytes.Contains(payload, []byte(`"period_start":null`)) {
			t.Errorf("%s: %s, want an example without holes", k.Type, payload)
		}
		if got, ok := webhook.KindOf(k.Type); !ok || got.About != k.About {
			t.Errorf("KindOf(%s): got %+v, %t", k.Type, got, ok)
		}
	}
	if len(seen) != 17 {
		t.Errorf("%d events, want 17", len(seen))
	}
	if _, ok := webhook.KindOf(webhook.Test); ok {
		t.Error("the test event can be subscribed to")
	}
}
