package chat_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"weir/internal/e2e/harness"
)

// TestConversationKeepsItsKey sends turns of conversations, as agents name them, through two keys of a provider and two
// providers: each conversation has one target and key, and all are used. The control is an alias without affinity.
func TestConversationKeepsItsKey(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 1)
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Path + " " + r.Header.Get("Authorization")
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, responsesAnswer)
	}))
	t.Cleanup(ts.Close)
	provider := func(name string) string {
		return fmt.Sprintf("  %s: {dialect: responses, base_url: %q, allow_private: true, api_keys: [one, two]}\n", name, ts.URL+"/"+name)
	}
	h := harness.Open(t, harness.Setup{YAML: "providers:\n" + provider("first") + provider("second") + `aliases:
  ordered: {targets: [first/m, second/m]}
  weighted: {targets: [first/m, second/m], strategy: weighted}
  none: {targets: [first/m, second/m], strategy: weighted, affinity: none}
prices: {first/*: {input: "1", output: "1"}, second/*: {input: "1", output: "1"}}
`})
	const sessions, turns = 24, 4
	agents := map[string]func(model, session string, turn int) harness.Ask{
		"prompt_cache_key of Codex": func(model, session string, turn int) harness.Ask {
			return harness.Ask{Path: "/v1/responses", Body: fmt.Sprintf(`{"model":%q,"prompt_cache_key":%q,"input":"Turn %d"}`, model, session, turn)}
		},
		"header of Claude Code": func(model, session string, turn int) harness.Ask {
			return harness.Ask{
				Path: "/v1/messages", Header: []string{"X-Claude-Code-Session-Id", session},
				Body: fmt.Sprintf(`{"model":%q,"max_tokens":9,"messages":[{"role":"user","content":"Turn %d"}]}`, model, turn),
			}
		},
		"header of opencode": func(model, session string, turn int) harness.Ask {
			return harness.Ask{
				Path: "/v1/chat/completions", Header: []string{"x-session-affinity", session},
				Body: fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":"Turn %d"}]}`, model, turn),
			}
		},
		"header of pi": func(model, session string, turn int) harness.Ask {
			return harness.Ask{
				Path: "/v1/chat/completions", Header: []string{"session_id", session},
				Body: fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":"Turn %d"}]}`, model, turn),
			}
		},
		"the beginning": func(model, session string, turn int) harness.Ask {
			return harness.Ask{Path: "/v1/chat", Body: fmt.Sprintf(
				`{"model":%q,"messages":[{"role":"user","prompt":%q},{"role":"user","prompt":"Turn %d"}]}`, model, session, turn)}
		},
	}
	for model, places := range map[string]int{"first/m": 2, "ordered": 2, "weighted": 4, "none": 4} {
		for agent, ask := range agents {
			used, moved := map[string]bool{}, 0
			for i := range sessions {
				first := ""
				for turn := range turns {
					if r := h.Do(ask(model, fmt.Sprint("session ", i), turn)); r.Status != http.StatusOK {
						t.Fatalf("%s at %s: %d %s", agent, model, r.Status, r.Body)
					}
					at := <-asked
					if used[at] = true; turn == 0 {
						first = at
					}
					if at != first {
						moved++
					}
				}
			}
			if len(used) != places || (moved > 0) != (model == "none") {
				t.Errorf("%s at %s: %d places are used, want %d; %d of %d turns moved", agent, model, len(used), places,
					moved, sessions*turns)
			}
		}
	}
}
