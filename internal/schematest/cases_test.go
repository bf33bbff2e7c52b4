package schematest_test

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"weir/internal/llm"
	"weir/internal/must"
)

// TestCasesFitSchemas sends single requests that once broke a vendor's schema: a file of testdata/cases each.
func TestCasesFitSchemas(t *testing.T) {
	t.Parallel()
	for _, path := range must.Get(filepath.Glob("testdata/cases/*.json"))(t) {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".json"), func(t *testing.T) {
			t.Parallel()
			var c struct {
				Client, Path, Provider, Format, Model, Judge string
				Sent, Dropped                                []string // texts in the sent request, names of the dropped fields
				Refused                                      string   // the field that a refusal names
				Body                                         json.RawMessage
			}
			must.Do(t, json.Unmarshal(must.Get(os.ReadFile(path))(t), &c))
			to := target{c.Judge, c.Provider, cmp.Or(c.Format, c.Judge), c.Model}
			if c.Provider == "mistral" {
				to.format = "openai"
			}
			r := newRoute(t, client{name: c.Client, path: c.Path}, to)
			out, dropped, err := r.sent(r.client.asked(c.Body))
			if err != nil {
				if e := llm.AsError(err); c.Refused == "" || !strings.Contains(e.Param, c.Refused) {
					t.Fatalf("refused for %q: %s, want %q", e.Param, e.Message, c.Refused)
				}
				return
			}
			if found := r.judged(out); found != nil || c.Refused != "" {
				t.Errorf("sent %s: %v", out, found)
			}
			for _, text := range c.Sent {
				if !strings.Contains(string(out), text) {
					t.Errorf("sent %s without %s", out, text)
				}
			}
			for _, name := range c.Dropped {
				if !slices.Contains(dropped, name) {
					t.Errorf("left out %q, want %q among it", dropped, name)
				}
			}
		})
	}
}
