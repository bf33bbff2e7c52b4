package chat_test

import (
	"net/http"
	"strings"
	"testing"

	"weir/internal/account"
	"weir/internal/e2e/harness"
)

// TestModelsOfAliasesWithAnAsterisk checks that a name that matches such an alias is a model in all three formats, that
// the list has only names that can be requested, and that an alias has the abilities that all its targets share.
func TestModelsOfAliasesWithAnAsterisk(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: `providers:
  openai: {api_keys: [k], dialect: openai, base_url: "` + up.URL + `/v1", allow_private: true}
  anthropic: {api_keys: [k], dialect: anthropic, base_url: "` + up.URL + `/v1", allow_private: true}
aliases:
  claude-*: {targets: [anthropic/claude-haiku-4-5, openai/gpt-4o-mini]}
  best: {targets: [anthropic/claude-haiku-4-5, openai/gpt-4o-mini]}
`})
	shapes := map[string][]string{
		"/v1/models": {"Authorization", "Bearer " + h.Key}, "/v1beta/models": {"X-Goog-Api-Key", h.Key},
		"/v1/models?limit=1000": {"Anthropic-Version", "2023-06-01"},
	}
	for path, header := range shapes {
		at := strings.TrimSuffix(path, "?limit=1000")
		for name, status := range map[string]int{"claude-3-5-sonnet-latest": 200, "claude-haiku-4-5": 200, "best": 200, "nobody": 404} {
			if got := h.Do(harness.Ask{Path: at + "/" + name, Header: header}); got.Status != status ||
				status == 200 && !strings.Contains(got.Body, name+`"`) {
				t.Errorf("%s/%s: %d %s, want %d", at, name, got.Status, got.Body, status)
			}
		}
		if at == "/v1beta/models" {
			path += "?pageSize=1000"
		}
		list := h.Do(harness.Ask{Path: path, Header: header}).Body
		if strings.Contains(list, "claude-*") || !strings.Contains(list, `claude-haiku-4-5"`) {
			t.Errorf("%s: the list has an asterisk, or has not the name of the target: %.3000s", path, list)
		}
	}
	narrow := h.NewKey(account.KeyOptions{Account: account.DefaultName, Label: "n", Models: []string{"openai/*"}})
	if got := h.Do(harness.Ask{Path: "/v1/models/claude-3-5-sonnet-latest", Key: narrow}); got.Status != http.StatusNotFound {
		t.Errorf("a key without the targets: %d %s", got.Status, got.Body)
	}
	if got := h.Do(harness.Ask{Path: "/v1/models/best"}).Body; !strings.Contains(got, `"context_window":128000`) || !strings.Contains(got, `"tools":true`) {
		t.Errorf("an alias has not the window and the abilities of all its targets: %s", got)
	}
	if got := h.Do(harness.Ask{Path: "/v1beta/models/best"}).Body; !strings.Contains(got, `"countTokens"`) || !strings.Contains(got, `"inputTokenLimit":128000`) {
		t.Errorf("Gemini's shape: %s", got)
	}
}
