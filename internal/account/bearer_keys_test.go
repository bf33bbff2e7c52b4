package account_test

import (
	"net/http"
	"testing"

	"weir/internal/account"
	"weir/internal/llm"
)

// TestTwoKeys is that a request with two different keys of the gateway is refused, and one with a key of others beside
// its own, or with the same twice, is not.
func TestTwoKeys(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		bearer, other string
		refused       bool
	}{
		{"wk_one", "wk_two", true},
		{"wk_one", "wk_one", false},
		{"wk_one", "sk-ant-dummy", false},
		{"wk_one", "", false},
		{"", "wk_two", false},
		{"sk-dummy", "wk_two", false},
	} {
		h := http.Header{}
		if test.bearer != "" {
			h.Set("Authorization", "Bearer "+test.bearer)
		}
		if test.other != "" {
			h.Set("X-Api-Key", test.other)
		}
		_, err := account.Token(h, "X-Api-Key")
		if (err != nil) != test.refused || err != nil && llm.AsError(err).Code != llm.CodeInvalidRequest {
			t.Errorf("%q and %q: got %v, want it refused: %t", test.bearer, test.other, err, test.refused)
		}
	}
}
