package simulator_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/genai"

	"weir/internal/llm"
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

// geminiClient makes Google's official client, unmodified but for its address,
// for one of its backends.
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
	client, err := genai.NewClient(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// geminiSDK runs a check at a simulator reached in both ways, with every
// backend of the client.
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
		if err != nil {
			t.Fatal(err)
		}
		if got.Text() != "Say it again, please" || got.Candidates[0].FinishReason != genai.FinishReasonStop || got.ModelVersion != "echo" || got.ResponseID == "" {
			t.Errorf("got %q, %+v", got.Text(), got)
		}
		truth, u := settled(t, s).Usage, got.UsageMetadata
		if int64(u.PromptTokenCount) != truth.InputTokens() || int64(u.CandidatesTokenCount) != truth[llm.Output] || int64(u.TotalTokenCount) != truth.TotalTokens() {
			t.Errorf("usage %+v, ledger %v", u, truth)
		}
	})
}

func TestGeminiSDKStream(t *testing.T) {
	t.Parallel()
	geminiSDK(t, func(t *testing.T, client func(string) *genai.Client, s *simulator.Server) {
		var text, thoughts strings.Builder
		var last *genai.GenerateContentResponse
		config := &genai.GenerateContentConfig{ThinkingConfig: &genai.ThinkingConfig{IncludeThoughts: true, ThinkingLevel: genai.ThinkingLevelHigh}}
		for r, err := range client("sk-right").Models.GenerateContentStream(context.Background(), "reason:tokens=20,reasoning=7,cached=5,chunk=9", genai.Text("Think"), config) {
			if err != nil {
				t.Fatal(err)
			}
			last = r
			for _, p := range r.Candidates[0].Content.Parts {
				if p.Thought {
					thoughts.WriteString(p.Text)
				} else {
					text.WriteString(p.Text)
				}
			}
		}
		truth, u := settled(t, s).Usage, last.UsageMetadata
		if last.Candidates[0].FinishReason != genai.FinishReasonStop || text.Len() == 0 || thoughts.Len() == 0 {
			t.Errorf("finish %q, thoughts %q, text %q", last.Candidates[0].FinishReason, thoughts.String(), text.String())
		}
		if u == nil || u.ThoughtsTokenCount != 7 || u.CandidatesTokenCount != 20 || u.CachedContentTokenCount != 5 || int64(u.TotalTokenCount) != truth.TotalTokens() {
			t.Errorf("usage %+v, ledger %v", u, truth)
		}
	})
}

func TestGeminiSDKTools(t *testing.T) {
	t.Parallel()
	geminiSDK(t, func(t *testing.T, client func(string) *genai.Client, _ *simulator.Server) {
		c := client("sk-right")
		for schema, f := range map[string]genai.FunctionDeclaration{
			"OpenAPI": {Name: "weather", Parameters: &genai.Schema{
				Type: genai.TypeObject, Required: []string{"city"}, Properties: map[string]*genai.Schema{"city": {Type: genai.TypeString}},
			}},
			"JSON Schema": {Name: "weather", ParametersJsonSchema: map[string]any{
				"type": "object", "required": []string{"city"}, "properties": map[string]any{"city": map[string]any{"type": "string"}},
			}},
		} {
			config := &genai.GenerateContentConfig{
				Tools:      []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{&f}}},
				ToolConfig: &genai.ToolConfig{FunctionCallingConfig: &genai.FunctionCallingConfig{Mode: genai.FunctionCallingConfigModeAny, AllowedFunctionNames: []string{"weather"}}},
			}
			contents := genai.Text("Weather? In the words of " + schema)
			first, err := c.Models.GenerateContent(context.Background(), "tools:calls=2", contents, config)
			if err != nil {
				t.Fatal(err)
			}
			calls := first.FunctionCalls()
			if len(calls) != 2 || calls[0].Name != "weather" || calls[0].ID == "" || calls[0].ID == calls[1].ID {
				t.Fatalf("%s: calls %+v", schema, calls)
			}
			if _, ok := calls[0].Args["city"].(string); !ok {
				t.Errorf("%s: arguments %v do not fit the schema", schema, calls[0].Args)
			}
			results := &genai.Content{Role: genai.RoleUser}
			for _, call := range calls {
				results.Parts = append(results.Parts, &genai.Part{FunctionResponse: &genai.FunctionResponse{ID: call.ID, Name: call.Name, Response: map[string]any{"output": "rain"}}})
			}
			second, err := c.Models.GenerateContent(context.Background(), "tools:calls=2", append(contents, first.Candidates[0].Content, results), config)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := second.Text(), "The tool said: rain"; got != want {
				t.Errorf("%s: after the tool's result: got %q, want %q", schema, got, want)
			}
			streamed := 0
			for r, err := range c.Models.GenerateContentStream(context.Background(), "tools:calls=2", genai.Text("In a stream, in the words of "+schema), config) {
				if err != nil {
					t.Fatal(err)
				}
				streamed += len(r.FunctionCalls())
			}
			if streamed != 2 {
				t.Errorf("%s: %d calls in a stream, want 2", schema, streamed)
			}
		}
	})
}

func TestGeminiSDKStructuredOutput(t *testing.T) {
	t.Parallel()
	geminiSDK(t, func(t *testing.T, client func(string) *genai.Client, _ *simulator.Server) {
		for name, config := range map[string]*genai.GenerateContentConfig{
			"OpenAPI": {ResponseSchema: &genai.Schema{
				Type: genai.TypeObject, Required: []string{"name", "height"},
				Properties: map[string]*genai.Schema{"name": {Type: genai.TypeString}, "height": {Type: genai.TypeInteger, Minimum: genai.Ptr(100.0)}},
			}},
			"JSON Schema": {ResponseJsonSchema: map[string]any{
				"type": "object", "required": []string{"name", "height"},
				"properties": map[string]any{"name": map[string]any{"type": "string"}, "height": map[string]any{"type": "integer", "minimum": 100}},
			}},
		} {
			config.ResponseMIMEType = "application/json"
			got, err := client("sk-right").Models.GenerateContent(context.Background(), "json", genai.Text("A place, in "+name), config)
			if err != nil {
				t.Fatal(err)
			}
			var place struct {
				Name   string
				Height int
			}
			if err := json.Unmarshal([]byte(got.Text()), &place); err != nil || place.Name == "" || place.Height < 100 {
				t.Errorf("%s: got %q (%v), want a name and a height from 100", name, got.Text(), err)
			}
		}
	})
}

func TestGeminiSDKFinishes(t *testing.T) {
	t.Parallel()
	geminiSDK(t, func(t *testing.T, client func(string) *genai.Client, _ *simulator.Server) {
		for model, want := range map[string]genai.FinishReason{
			"chat:fault=content-filter": genai.FinishReasonSafety,
			"tools:fault=bad-arguments": genai.FinishReasonMalformedFunctionCall,
			"chat:tokens=500":           genai.FinishReasonMaxTokens,
		} {
			config := &genai.GenerateContentConfig{
				MaxOutputTokens: 100,
				Tools: []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{{Name: "f", Parameters: &genai.Schema{
					Type: genai.TypeObject, Required: []string{"city"}, Properties: map[string]*genai.Schema{"city": {Type: genai.TypeString}},
				}}}}},
			}
			got, err := client("sk-right").Models.GenerateContent(context.Background(), model, genai.Text(model), config)
			if err != nil || got.Candidates[0].FinishReason != want {
				t.Errorf("%s: got %+v, %v; want %s", model, got, err, want)
			}
		}
	})
}

func TestGeminiSDKErrors(t *testing.T) {
	t.Parallel()
	geminiSDK(t, func(t *testing.T, client func(string) *genai.Client, _ *simulator.Server) {
		for _, tt := range []struct {
			model, key string
			code       int
			status     string
		}{
			{"chat", "sk-wrong", 401, "UNAUTHENTICATED"},
			{"gpt-5", "sk-right", 404, "NOT_FOUND"},
			{"chat:status=403", "sk-right", 403, "PERMISSION_DENIED"},
			{"chat:status=429", "sk-right", 429, "RESOURCE_EXHAUSTED"},
			{"chat:status=500", "sk-right", 500, "INTERNAL"},
			{"chat:status=503", "sk-right", 503, "UNAVAILABLE"},
			{"chat:status=504", "sk-right", 504, "DEADLINE_EXCEEDED"},
		} {
			for _, stream := range []bool{false, true} {
				err := geminiAsk(client(tt.key), tt.model, stream)
				got, ok := errors.AsType[genai.APIError](err)
				if !ok || got.Code != tt.code || got.Status != tt.status || got.Message == "" || len(got.Details) == 0 {
					t.Errorf("%s, stream %t: got %v, want %d %s", tt.model, stream, err, tt.code, tt.status)
				}
			}
		}
		for _, model := range []string{"chat:fault=cut-reset", "chat:fault=malformed", "chat:fault=error-event"} {
			if err := geminiAsk(client("sk-right"), model, true); err == nil {
				t.Errorf("%s: no error", model)
			}
		}
	})
}

// geminiAsk is the error of a request.
func geminiAsk(c *genai.Client, model string, stream bool) error {
	if !stream {
		_, err := c.Models.GenerateContent(context.Background(), model, genai.Text("Why, "+model+"?"), nil)
		return err
	}
	for _, err := range c.Models.GenerateContentStream(context.Background(), model, genai.Text("Why, "+model+"?"), nil) {
		if err != nil {
			return err
		}
	}
	return nil
}
