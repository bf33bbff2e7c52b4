package faults_test

import (
	"net/http"
	"strings"
	"testing"

	"weir/internal/e2e/harness"
)

// TestMisspeltModel checks that models that only requests name, and a provider answers with 404, are the client's
// mistake: the provider's health does not change, and nothing was used. For a model that the configuration names it is
// a failure of the provider.
func TestMisspeltModel(t *testing.T) {
	t.Parallel()
	const missing = "house/chat:status=404"
	for _, test := range []struct {
		name, yaml string
		fails      bool
	}{
		{"only requests name it", "", false},
		{"an alias names it", "aliases:\n  old: {targets: ['" + missing + "']}\n", true},
		{"models names it", "", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			up := harness.NewUpstream(t)
			yaml := harness.ProvidersYAML(up.URL) + test.yaml
			if test.name == "models names it" {
				yaml = strings.Replace(yaml, "retries: 0", "retries: 0\n    models: ['chat', 'chat:status=404']", 1)
			}
			h := harness.Open(t, harness.Setup{YAML: yaml})
			other := h.KeyOfNew("other")
			for _, key := range []string{h.Key, other} {
				for range 6 {
					r := h.Do(harness.Ask{Path: "/v1/chat", Body: harness.Hello(missing), Key: key})
					harness.WantError(t, r, http.StatusNotFound, "MODEL_NOT_FOUND")
				}
			}
			if told := strings.Contains(h.Log.String(), "provider.unavailable"); told != test.fails {
				t.Errorf("got provider.unavailable %t, want %t", told, test.fails)
			}
			uses := h.Do(harness.Ask{Path: "/v1/uses"}).Body
			if used := strings.Contains(uses, "status=404"); used != test.fails {
				t.Errorf("usage has the model %t, want %t: %s", used, test.fails, uses)
			}
		})
	}
}
