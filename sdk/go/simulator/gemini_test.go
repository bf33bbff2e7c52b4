package simulator_test

import (
	"context"
	"net/http"
	"testing"

	"google.golang.org/genai"

	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/simulator"
)

// bearer sends a key as Google's credentials do.
type bearer struct {
	key  string
	next http.RoundTripper
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.key)
	return b.next.RoundTrip(r)
}

// geminiClient builds Google's official client, unmodified except for its address, for one of its backends.
func geminiClient(t *testing.T, backend, key, base string, rt http.RoundTripper) *genai.Client {
	t.Helper()
	c := &genai.ClientConfig{
		Backend: genai.BackendVertexAI, APIKey: key, HTTPClient: &http.Client{Transport: rt},
		HTTPOptions: genai.HTTPOptions{BaseURL: base},
	}
	switch backend {
	case "gemini":
		c.Backend = genai.BackendGeminiAPI
	case "vertex":
		c.APIKey, c.Project, c.Location = "", "p", "global"
		c.HTTPClient.Transport = bearer{key, rt}
	}
	client := must.Get(genai.NewClient(context.Background(), c))(t)
	return client
}

// geminiSDK runs a check at a simulator reached in both ways, with every backend of the client.
func geminiSDK(t *testing.T, check func(t *testing.T, client func(key string) *genai.Client, s *simulator.Server)) {
	t.Helper()
	for _, backend := range []string{"gemini", "vertex", "vertex with a key"} {
		t.Run(backend, func(t *testing.T) {
			eachWay(t, "sk-right", func(t *testing.T, s *simulator.Server, base string, rt http.RoundTripper) {
				check(t, func(key string) *genai.Client { return geminiClient(t, backend, key, base, rt) }, s)
			})
		})
	}
}

func TestGeminiSDKPlain(t *testing.T) {
	t.Parallel()
	geminiSDK(t, func(t *testing.T, client func(string) *genai.Client, s *simulator.Server) {
		config := &genai.GenerateContentConfig{
			SystemInstruction: genai.NewContentFromText("Be brief.", genai.RoleUser),
			Temperature:       genai.Ptr[float32](0.5), MaxOutputTokens: 100, StopSequences: []string{"END"},
		}
		got, err := client("sk-right").Models.GenerateContent(context.Background(), "echo", genai.Text("Say it again, please"), config)
		must.Do(t, err)
		if got.Text() != "Say it again, please" || got.Candidates[0].FinishReason != genai.FinishReasonStop || got.ModelVersion != "echo" || got.ResponseID == "" {
			t.Errorf("got %q, %+v", got.Text(), got)
		}
		truth, u := settled(t, s).Usage, got.UsageMetadata
		if int64(u.PromptTokenCount) != truth.InputTokens() || int64(u.CandidatesTokenCount) != truth[llm.Output] || int64(u.TotalTokenCount) != truth.TotalTokens() {
			t.Errorf("usage %+v, ledger %v", u, truth)
		}
	})
}
