package quote

import (
	"testing"

	"weir/internal/dialect/parse"
)

// TestUsualBodyRunsNoTools checks that a body with a member that may run a tool of the provider's is not taken for one
// of usual members, wherever the member is and however its name is written.
func TestUsualBodyRunsNoTools(t *testing.T) {
	t.Parallel()
	names := []string{toolList, "server_tools", "fallbacks", "rescue", "tool_calls", "extra_content", "signature"}
	for name := range working {
		names = append(names, name)
	}
	for _, name := range append(names, `mod\u0065l`, "Model") {
		for _, body := range []string{
			`{"model":"m","` + name + `":1}`, `{"messages":[{"role":"user","content":[{"` + name + `":{}}]}],"stream":true}`,
		} {
			if h, err := parse.Body([]byte(body), "", ""); err != nil || h.Usual {
				t.Errorf("%s: usual %t, %v", body, h.Usual, err)
			}
		}
	}
	const usual = `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"\"tools\":1"}]}],"seed":1}`
	if h, err := parse.Body([]byte(usual), "", ""); err != nil || !h.Usual {
		t.Errorf("%s: usual %t, %v, want true", usual, h.Usual, err)
	}
}
