package app_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestGeminiPaths asks at the paths of both versions of Gemini's API: the SDK for
// Node has gone over to v1 with its version 3, the others are at v1beta.
func TestGeminiPaths(t *testing.T) {
	t.Parallel()
	h, _ := openSimulated(t)
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
			if r := h.do(ask{path: path, body: clientAPI.body}); r.status != http.StatusOK || !strings.Contains(r.body, clientAPI.want) {
				t.Errorf("%s: got %d, %s; want 200 and %s", path, r.status, r.body, clientAPI.want)
			}
		}
	}
}

// TestGeminiMethods asks for methods that are not served, and is told which are.
func TestGeminiMethods(t *testing.T) {
	t.Parallel()
	h, _ := openSimulated(t)
	for _, target := range []string{"house/echo:generateAnswer", "house/echo:predict", "house/echo"} {
		r := h.do(ask{path: "/v1beta/models/" + target, body: `{}`})
		if r.status != http.StatusNotFound {
			t.Errorf("%s: got %d, %s; want 404", target, r.status, r.body)
		}
		for _, method := range []string{":generateContent", ":streamGenerateContent?alt=sse", ":countTokens", ":batchEmbedContents"} {
			if !strings.Contains(r.body, method) {
				t.Errorf("%s: got %s; want it to name %s", target, r.body, method)
			}
		}
	}
}
