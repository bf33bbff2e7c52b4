package route_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"weir/internal/credential"
	"weir/internal/dialect"
	"weir/internal/dialect/registry/registrytest"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/provider"
	"weir/internal/route"
)

// TestOverflowIsRecognized checks that an input beyond the context window is recognized, by type, code or text of the
// model's server, and that other mistakes are not. Each body is quoted: from an issue or a test of a public repository
// if no other source is named (August to November 2026).
func TestOverflowIsRecognized(t *testing.T) {
	t.Parallel()
	message := func(text string) string { return `{"error":{"message":"` + text + `"}}` }
	for _, tt := range []struct {
		name, body string
		status     int
		want       bool
		in         string // the wire format
	}{
		// https://github.com/ggml-org/llama.cpp, tools/server/server-context.cpp
		{"llama.cpp", `{"error":{"code":400,"message":"request (1222 tokens) exceeds the available context size (512 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":1222,"n_ctx":512}}`, 400, true, ""},
		{"llama.cpp, by its type alone", `{"error":{"code":400,"message":"no","type":"exceed_context_size_error"}}`, 400, true, ""},
		{"llama.cpp, by its words alone", message("the request exceeds the available context size, try increasing it"), 400, true, ""},
		{"llama.cpp, embeddings", `{"error":{"code":500,"message":"input (700 tokens) is too large to process. increase the physical batch size (current batch size: 512)","type":"server_error"}}`, 500, true, ""},
		{"Ollama", `{"error":"the input length exceeds the context length"}`, 400, true, "ollama"},
		{"Ollama, its runner's words", `{"error":{"message":"request (9412 tokens) exceeds the available context size (8192 tokens), try increasing it","type":"invalid_request_error"}}`, 400, true, ""},
		{"LM Studio", message("The number of tokens to keep from the initial prompt is greater than the context length. Try to load the model with a larger context length"), 400, true, ""},
		{"LM Studio, older", `{"error":"Trying to keep the first 4521 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens"}`, 400, true, ""},
		// https://github.com/vllm-project/vllm/issues/20409, /issues/12165, /pull/12600
		{"vLLM", `{"object":"error","message":"This model's maximum context length is 16384 tokens. However, you requested 122946 tokens (112946 in the messages, 10000 in the completion). Please reduce the length of the messages or completion.","type":"BadRequestError","code":400}`, 400, true, ""},
		{"vLLM, its engine", message("The prompt (total length 25938) is too long to fit into the model (context length 4096). Make sure that `max_model_len` is no smaller"), 400, true, ""},
		{"vLLM, its decoder", message("The decoder prompt (length 5000) is longer than the maximum model length of 4096."), 400, true, ""},
		// https://github.com/sgl-project/sglang/issues/4048, /issues/8096
		{"SGLang", message("Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens)."), 400, true, ""},
		{"SGLang, its context", message("The input (85050 tokens) is longer than the model's context length (32768 tokens)."), 400, true, ""},
		{"Bedrock, Claude", `{"message":"Input is too long for requested model."}`, 400, true, "bedrock"},
		{"Bedrock, Claude with its cap", `{"message":"input length and max_tokens exceed context limit: 199846 + 8192 > 200000"}`, 400, true, "bedrock"},
		{"Bedrock, Nova", `{"message":"The model returned the following errors: Input Tokens Exceeded: Number of input tokens exceeds maximum length. Please update the input to try again."}`, 400, true, "bedrock"},
		{"Bedrock, Llama", `{"message":"The model returned the following errors: This model's maximum context length is 8192 tokens. Please reduce the length of the prompt"}`, 400, true, "bedrock"},
		{"Gemini", `{"error":{"code":400,"message":"The input token count (1337419) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}`, 400, true, "gemini"},
		{"Vertex AI", `{"error":{"code":400,"message":"Unable to submit request because the input token count is 131335 but model only supports up to 131072. Reduce the input token count and try again.","status":"INVALID_ARGUMENT"}}`, 400, true, "gemini"},
		{"Mistral", `{"object":"error","message":"Prompt contains 150000 tokens and 0 draft tokens, too large for model with 131072 maximum context length","type":"invalid_request_prompt","code":"3051"}`, 400, true, ""},
		{"Cohere", `{"message":"too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 5000. Try using a shorter prompt."}`, 400, true, "cohere"},
		{"OpenAI", `{"error":{"message":"Your input exceeds the context window of this model. Please adjust your input and try again.","type":"invalid_request_error","code":"context_length_exceeded"}}`, 400, true, ""},
		{"Anthropic", `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 206456 tokens > 200000 maximum"}}`, 400, true, "anthropic"},
		{"xAI", message("This model's maximum prompt length is 131072 but the request contains 537812 tokens."), 400, true, ""},
		{"Groq", `{"error":{"message":"Please reduce the length of the messages or completion.","type":"invalid_request_error","code":"context_length_exceeded"}}`, 400, true, ""},
		{"Moonshot", message("Invalid request: Your request exceeded model token limit: 262144 (requested: 300000)"), 400, true, ""},
		{"Alibaba", message("Range of input length should be [1, 258048]"), 400, true, ""},
		{"MiniMax", message("invalid params, context window exceeds limit (2013)"), 400, true, ""},

		{"a cap that is too large", message("max_tokens is too large: 100000. This model supports at most 16384 completion tokens."), 400, false, ""},
		{"a limit on tokens a minute", message("Too many tokens, please wait before trying again."), 429, false, ""},
		{"Groq, tokens a minute", `{"error":{"message":"Request too large for model on tokens per minute (TPM): Limit 6000, Requested 9000, please reduce your message size and try again.","type":"tokens","code":"rate_limit_exceeded"}}`, 413, false, ""},
		{"a name that is too long", message("metadata.name exceeds the maximum allowed length of 64 characters"), 400, false, ""},
		{"an error of the server", message("Internal error."), 500, false, ""},
	} {
		f := refusal(t, tt.in, tt.status, tt.body)
		word := ""
		if tt.want {
			word = "context_length_exceeded"
		}
		if got := f.Overflow(); got != tt.want || tt.want != (route.FaultOf(f) == route.FaultContext) || tt.want && (f.Err.Word != word || f.Err.Code != llm.CodeInvalidRequest) {
			t.Errorf("%s: %s: it overflows: %t, %s with the word %q; want %t, %q", tt.name, tt.body, got, f.Err.Code, f.Err.Word, tt.want, word)
		}
	}
}

// refusal returns the failure of a request after such an answer of a provider with that wire format, by default
// OpenAI's.
func refusal(t *testing.T, in string, status int, body string) *provider.Failure {
	t.Helper()
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	defer ts.Close()
	var speaks *dialect.Dialect
	for _, d := range registrytest.All() {
		if d.Name == in || in == "" && d.Name == "openai" {
			speaks = d
		}
	}
	p := must.Get(provider.New(provider.Options{
		Name: "a", Dialect: speaks, BaseURL: ts.URL, AllowPrivate: true,
		Auth: credential.Bearer, APIKeys: []llm.Secret{llm.NewSecret("key")},
	}))(t)
	defer p.Close()
	_, err := p.Do(t.Context(), provider.Call{Op: llm.OpChat, Model: "m", Body: []byte("{}"), AttemptID: "1", Hold: leave{}})
	return p.Judge(err)
}
