package faults_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"weir/internal/e2e/harness"
)

// misfits lists providers' errors for requests that their models do not accept, and the sentences and codes that the
// programs of each client API's vendor recognize. The sentence of the provider's own vendor appears once.
var misfits = map[string]struct {
	status                                int
	said                                  string // by the provider
	openai, openaiCode, anthropic, gemini string
}{
	"input-and-output": { // Claude Code requests less output
		400, "This model's maximum context length is 131072 tokens. However, you requested 140100 tokens (108100 in the messages, 32000 in the completion).",
		"This model's maximum context length is 131072 tokens. However, you requested", "context_length_exceeded",
		"input length and `max_tokens` exceed context limit: 108100 + 32000 > 131072, decrease input length",
		"The input token count (140100) exceeds the maximum number of tokens allowed (131072)",
	},
	"input": { // Claude Code shortens the conversation
		400, "Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens).",
		"This model's maximum context length is 59862 tokens. However, your messages resulted in 160062 tokens. Please", "context_length_exceeded",
		"prompt is too long: 160062 tokens > 59862 maximum", "The input token count (160062) exceeds the maximum number of tokens allowed (59862)",
	},
	"no-room-for-output": { // next to the input: less output would not help
		400, "input length and `max_tokens` exceed context limit: 199846 + 8192 > 200000, decrease input length or `max_tokens` and try again",
		"This model's maximum context length is 200000 tokens. However, you requested 208038 tokens (199846 in the messages, 8192 in", "context_length_exceeded",
		"input length and `max_tokens` exceed context limit: 199846 + 8192 > 200000, decrease", "The input token count (208038) exceeds the maximum number of tokens allowed (200000)",
	},
	"bedrock": {
		400, "input length and max_tokens exceed context limit: 199846 + 8192 > 200000",
		"This model's maximum context length is 200000 tokens. However, you requested 208038 tokens (199846 in the messages, 8192 in", "context_length_exceeded",
		"prompt is too long: 208038 tokens > 200000 maximum", "The input token count (208038) exceeds the maximum number of tokens allowed (200000)",
	},
	"window": { // the model is known to have 4096 tokens, and the number of sent ones is unknown
		400, "the request exceeds the available context size, try increasing it",
		"This model's maximum context length is 4096 tokens. Please reduce the length of the messages", "context_length_exceeded",
		"prompt is too long", "The input token count exceeds the maximum number of tokens allowed (4096)",
	},
	"gemini": {
		400, "The input token count (1337419) exceeds the maximum number of tokens allowed (1048576).",
		"This model's maximum context length is 1048576 tokens. However, your messages resulted in 1337419 tokens. Please", "context_length_exceeded",
		"prompt is too long: 1337419 tokens > 1048576 maximum", "The input token count (1337419) exceeds the maximum number of tokens allowed (1048576).",
	},
	"output": {
		400, "max_tokens is too large: 100000. This model supports at most 16384 completion tokens.",
		"max_tokens is too large: 100000. This model supports at most 16384 completion tokens", "invalid_value",
		"max_tokens: 100000 > 16384, which is the maximum allowed number of output tokens for",
		"maxOutputTokens value of 100000 but the supported range is from 1 (inclusive) to 16385 (exclusive)",
	},
	"output-of-claude": {
		400, "max_tokens: 128001 > 128000, which is the maximum allowed number of output tokens for claude-opus-5",
		"max_tokens is too large: 128001. This model supports at most 128000 completion tokens, whereas you provided 128001", "invalid_value",
		"max_tokens: 128001 > 128000, which is the maximum allowed number of output tokens for claude-opus-5",
		"maxOutputTokens value of 128001 but the supported range is from 1 (inclusive) to 128001 (exclusive)",
	},
	"output-of-gemini": {
		400, "Unable to submit request because it has a maxOutputTokens value of 131072 but the supported range is from 1 (inclusive) to 65537 (exclusive). Update the value and try again.",
		"max_tokens is too large: 131072. This model supports at most 65536 completion tokens", "invalid_value",
		"max_tokens: 131072 > 65536, which is the maximum allowed number of output tokens for",
		"maxOutputTokens value of 131072 but the supported range is from 1 (inclusive) to 65537 (exclusive)",
	},
	"output-of-groq": {
		400, "`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens` is less than the `context_window` for this model",
		"max_tokens is too large. This model supports at most 8192 completion tokens", "invalid_value",
		"which is the maximum allowed number of output tokens for this model", "maxOutputTokens is larger than the model supports",
	},
	"image": {
		400, "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 6096280 bytes > 5242880 bytes",
		"The image is too large. messages.0", "image_too_large",
		"messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 6096280 bytes > 5242880 bytes", "Unable to process input image. messages.0",
	},
	"image-413": { // which is the status of a body that is too large, at every vendor
		413, "The image is too large.", "The image is too large.", "image_too_large", "image exceeds the maximum size", "Unable to process input image",
	},
	"signature": {
		400, "messages.1.content.0: Invalid `signature` in `thinking` block", "The encrypted content could not be verified", "invalid_encrypted_content",
		"messages.1.content.0: Invalid `signature` in `thinking` block", "Thought signature is not valid",
	},
	"signature-of-gemini": {
		400, "Unable to submit request because Thought signature is not valid.", "The encrypted content could not be verified", "invalid_encrypted_content",
		"Invalid `signature` in `thinking` block", "Unable to submit request because Thought signature is not valid.",
	},
	"another": {400, "The value of x is not good.", "The value of x is not good.", "", "The value of x is not good.", "The value of x is not good."},
}

// TestMisfitsInSentencesThatProgramsKnow checks that each client API reports a request that does not fit in its
// vendor's sentence, with its code and status, followed by the provider's text: whole answers and streams.
func TestMisfitsInSentencesThatProgramsKnow(t *testing.T) {
	t.Parallel()
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct{ Model string }
		_ = json.NewDecoder(r.Body).Decode(&asked)
		m := misfits[asked.Model]
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(m.status)
		said, _ := json.Marshal(m.said)
		_, _ = io.WriteString(w, `{"error":{"message":`+string(said)+`,"type":"invalid_request_error"}}`)
	}))
	defer up.Close()
	h := harness.Open(t, harness.Setup{YAML: "models: {house/window: {context: 4096}}\nproviders:" + harness.ProviderYAML("house", up.URL)})
	for name, m := range misfits {
		for _, api := range harness.VendorAPIs() {
			for _, stream := range []bool{false, true} {
				want, code := m.openai, m.openaiCode
				switch api.Dialect {
				case "anthropic":
					want, code = m.anthropic, ""
				case "gemini":
					want, code = m.gemini, ""
				}
				r := h.Do(api.Ask("house/"+name, stream))
				var got struct {
					Error struct {
						Message, Status string
						Code            any
					}
				}
				_ = json.Unmarshal([]byte(r.Body), &got)
				message := got.Error.Message
				if r.Status != http.StatusBadRequest || !strings.Contains(message, want) || !strings.HasSuffix(message, m.said) {
					t.Errorf("%s at %s, stream %t: got %d %s\nwant 400 with %q, and behind it %q", name, api.Path, stream, r.Status, r.Body, want, m.said)
				}
				if code != "" && got.Error.Code != code {
					t.Errorf("%s at %s: got the code %v, want %s", name, api.Path, got.Error.Code, code)
				}
			}
		}
	}
}
