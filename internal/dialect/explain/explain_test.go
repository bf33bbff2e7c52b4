package explain_test

import (
	"strings"
	"testing"

	"weir/internal/dialect/explain"
	"weir/internal/llm"
)

func TestCleanRedactsKeys(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                                      "",
		" two\n\tlines\x00\xff ":                "two lines",
		"The key sk-aaaaaaaaaaaaaaaa is bad":    "The key [redacted] is bad",
		"The key AKIAIOSFODNN7EXAMPLE is bad":   "The key [redacted] is bad",
		"Bearer+sk-aaaaaaaaaaaaaaaa, a bad one": "Bearer+[redacted], a bad one",
		"+gsk_aaaaaaaaaaaaaaaa":                 "+[redacted]",
		`{"key":"xai-aaaaaaaaaaaaaaaa","x":1}`:  `{"key":"[redacted]","x":1}`,
		"?key=AIzaaaaaaaaaaaaaaaaa&x=1":         "?key=[redacted]&x=1",
		"r8_short,hf_aaaaaaaaaaaaaaaa":          "r8_short,[redacted]",
		"é" + "hf_aaaaaaaaaaaaaaaa":             "é[redacted]",
		"a task-oriented-way-out-of-it":         "a task-oriented-way-out-of-it",
		"x-api-key-is-not-what-it-was":          "x-api-key-is-not-what-it-was",
		"sk-short":                              "sk-short",
		"sk-short sk-...":                       "sk-short sk-...",
		strings.Repeat("é", explain.MaxMessage): strings.Repeat("é", 248) + "…",
	} {
		if got := explain.Clean(in); got != want || len(got) > explain.MaxMessage {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

// TestMisfitReadsSizes checks the sizes read from providers' errors. The texts are those of TestOverflowIsRecognized in
// package route, and of TestMisfitsInSentencesThatProgramsKnow in package faults.
func TestMisfitReadsSizes(t *testing.T) {
	t.Parallel()
	window := func(input, output, limit int64) llm.Misfit {
		return llm.Misfit{Kind: llm.ContextOverflow, Input: input, Output: output, Limit: limit}
	}
	output := func(asked, limit int64) llm.Misfit {
		return llm.Misfit{Kind: llm.OutputTooLong, Output: asked, Limit: limit}
	}
	for message, want := range map[string]llm.Misfit{
		"request (1222 tokens) exceeds the available context size (512 tokens), try increasing it":                                                                                           window(1222, 0, 512),
		"This model's maximum context length is 16,384 tokens. However, you requested 122946 tokens (112946 in the messages, 10000 in the completion). Please":                               window(112946, 10000, 16384),
		"You passed 8193 input tokens and requested 1024 output tokens. However, the model's context length is only 8192 tokens, resulting in":                                               window(8193, 1024, 8192),
		"The prompt (total length 25938) is too long to fit into the model (context length 4096). Make sure":                                                                                 window(25938, 0, 4096),
		"The decoder prompt (length 5000) is longer than the maximum model length of 4096.":                                                                                                  window(5000, 0, 4096),
		"The input (85050 tokens) is longer than the model's context length (32768 tokens).":                                                                                                 window(85050, 0, 32768),
		"input length and max_tokens exceed context limit: 199846 + 8192 > 200000":                                                                                                           window(199846, 8192, 200000),
		"The input token count (1337419) exceeds the maximum number of tokens allowed (1048576).":                                                                                            window(1337419, 0, 1048576),
		"Unable to submit request because the input token count is 131335 but model only supports up to 131072. Reduce":                                                                      window(131335, 0, 131072),
		"Prompt contains 150000 tokens and 0 draft tokens, too large for model with 131072 maximum context length":                                                                           window(150000, 0, 131072),
		"too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 5000. Try using a shorter prompt.":                                                              window(5000, 0, 4081),
		"prompt is too long: 206456 tokens > 200000 maximum":                                                                                                                                 window(206456, 0, 200000),
		"This model's maximum prompt length is 131072 but the request contains 537812 tokens.":                                                                                               window(537812, 0, 131072),
		"Invalid request: Your request exceeded model token limit: 262144 (requested: 300000)":                                                                                               window(300000, 0, 262144),
		"Range of input length should be [1, 258048]":                                                                                                                                        window(0, 0, 258048),
		"the model is loaded with context length of only 4096 tokens":                                                                                                                        window(0, 0, 4096),
		"Your input exceeds the context window of this model.":                                                                                                                               window(0, 0, 0),
		"This model's maximum context length is 99999999999999999999999999 tokens.":                                                                                                          window(0, 0, 0),
		"max_completion_tokens is too large: 64000. This model supports at most 16384 completion tokens, whereas you provided 64000.":                                                        output(64000, 16384),
		"Invalid max_tokens value, the valid range of max_tokens is [1, 8192]":                                                                                                               output(0, 8192),
		"The maximum tokens you requested exceeds the model limit of 8192. Try again with a maximum tokens value that is lower than 8192.":                                                   output(0, 8192),
		"Invalid 'max_output_tokens': integer above maximum value. Expected a value <= 128000, but got 999999 instead.":                                                                      output(999999, 128000),
		"messages.46.content.9.image.source.base64: image exceeds 5 MB maximum: 6096280 bytes > 5242880 bytes":                                                                               {Kind: llm.ImageTooLarge, Input: 6096280, Limit: 5242880},
		"messages.84.content.1.image.source.base64.data: At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels":                                  {Kind: llm.ImageTooLarge},
		"The encrypted content gAAA...5Q== could not be verified. Reason: Encrypted content could not be decrypted or parsed.":                                                               {Kind: llm.ThinkingSignature},
		"messages.3.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.": {Kind: llm.ThinkingSignature},
		"The value of x is not good.": {},
		"The request signature we calculated does not match the signature you provided.": {},
	} {
		if got := explain.Misfit(explain.Code("", message), message); got != want {
			t.Errorf("%q: got %+v, want %+v", message, got, want)
		}
	}
}

func TestCodeIsFoundInMessages(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ code, message, want string }{
		{"", "", ""},
		{"x", "Something else", "x"},
		{"string_above_max_length", "", explain.Context},
		{"ValidationException", "Input is too long for requested model.", explain.Context},
		{"moderation_blocked", "", explain.Policy},
		{"", "blocked by our content filters", explain.Policy},
	} {
		if got := explain.Code(tt.code, tt.message); got != tt.want {
			t.Errorf("%q, %q: got %q, want %q", tt.code, tt.message, got, tt.want)
		}
	}
}
