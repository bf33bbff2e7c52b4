package chat_test

import (
	"net/http"
	"strings"
	"testing"

	"weir/internal/e2e/harness"
)

// TestGeminiPathWithoutModels requests a provider's model without "models/" before its name, as LangChain, the AI SDK
// and opencode do.
func TestGeminiPathWithoutModels(t *testing.T) {
	t.Parallel()
	h, _ := harness.OpenSimulated(t)
	const contents = `{"contents":[{"parts":[{"text":"Hi"}]}]}`
	for _, tt := range []struct {
		method, path, body string
		status             int
		holds              string
	}{
		{"POST", "/v1beta/house/chat:generateContent", contents, 200, `"candidates"`},
		{"POST", "/v1beta/house/chat:streamGenerateContent?alt=sse", contents, 200, `data: {`},
		{"POST", "/v1beta/house/chat:countTokens", contents, 200, `"totalTokens"`},
		{"POST", "/v1beta/house/chat:embedContent", `{"content":{"parts":[{"text":"Hi"}]}}`, 200, `"values"`},
		{"POST", "/v1beta/house/chat:batchEmbedContents", `{"requests":[{"model":"models/house/chat","content":{"parts":[{"text":"Hi"}]}}]}`, 200, `"values"`},
		{"POST", "/v1beta/house/chat:other", contents, 404, `:generateContent`},
		{"POST", "/v1beta/nobody/chat:generateContent", contents, 404, `"error"`},
		{"POST", "/v1beta/files/abc", contents, 404, "does not serve"},
		{"POST", "/v1beta/house%2Fchat:generateContent", contents, 200, `"candidates"`},
		{"GET", "/v1beta/files/abc", "", 404, "does not serve"},
		{"GET", "/v1beta/house/chat:generateContent", "", 404, "does not serve"},
		{"POST", "/v1beta/cachedContents", contents, 404, "does not serve"},
	} {
		got := h.Do(harness.Ask{Method: tt.method, Path: tt.path, Body: tt.body})
		if got.Status != tt.status || !strings.Contains(got.Body, tt.holds) {
			t.Errorf("%s %s: %d %s, want %d with %q", tt.method, tt.path, got.Status, got.Body, tt.status, tt.holds)
		}
	}
	if got := h.Do(harness.Ask{Path: "/v1beta/house/chat:generateContent", Body: contents, Key: harness.NoKey}); got.Status != http.StatusUnauthorized {
		t.Errorf("without a key: %d", got.Status)
	}
}
