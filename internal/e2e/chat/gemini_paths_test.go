package chat_test

import (
	"net/http"
	"strings"
	"testing"

	"weir/internal/e2e/harness"
)

// TestGeminiPaths sends requests to the paths of both versions of Gemini's API: the SDK for Node uses v1 since its
// version 3, the others v1beta.
func TestGeminiPaths(t *testing.T) {
	t.Parallel()
	h, _ := harness.OpenSimulated(t)
	const contents = `{"contents":[{"role":"user","parts":[{"text":"Hi"}]}]}`
	methods := map[string]struct{ body, want string }{
		":generateContent":               {contents, `"text":"Hi"`},
		":streamGenerateContent?alt=sse": {contents, `"text":"Hi"`},
		":countTokens":                   {contents, `"totalTokens":`},
		":batchEmbedContents":            {`{"requests":[{"content":{"parts":[{"text":"Hi"}]}}]}`, `"embeddings":`},
	}
	for _, version := range []string{"v1", "v1beta"} {
		for method, clientAPI := range methods {
			path := "/" + version + "/models/house/echo" + method
			if r := h.Do(harness.Ask{Path: path, Body: clientAPI.body}); r.Status != http.StatusOK || !strings.Contains(r.Body, clientAPI.want) {
				t.Errorf("%s: got %d, %s; want 200 and %s", path, r.Status, r.Body, clientAPI.want)
			}
		}
	}
}

// TestGeminiMethods requests methods that are not served: the error lists the served ones.
func TestGeminiMethods(t *testing.T) {
	t.Parallel()
	h, _ := harness.OpenSimulated(t)
	for _, target := range []string{"house/echo:generateAnswer", "house/echo:predict", "house/echo"} {
		r := h.Do(harness.Ask{Path: "/v1beta/models/" + target, Body: `{}`})
		if r.Status != http.StatusNotFound {
			t.Errorf("%s: got %d, %s; want 404", target, r.Status, r.Body)
		}
		for _, method := range []string{":generateContent", ":streamGenerateContent?alt=sse", ":countTokens", ":batchEmbedContents"} {
			if !strings.Contains(r.Body, method) {
				t.Errorf("%s: got %s; want it to name %s", target, r.Body, method)
			}
		}
	}
}
