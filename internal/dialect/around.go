package dialect

import "strings"

// aroundAny exceeds the number of tokens that vendors add to a request in unknown framing: a preamble, the date, a
// description of the answer's format.
const aroundAny = 1024

// framings lists the tokens added to a request without tools and without an answer format, by prefixes of model
// names. The framing of each message takes fewer tokens than its members in the body, `{"role":"user","content":""}`:
// at most 6 (https://huggingface.co/openai/gpt-oss-20b, chat_template.jinja).
//
// Recorded exchanges of 100 to 400 bytes count 15 to 52 tokens with Claude, thinking included, 21 to 50 with OpenAI's
// models, 7 to 22 with Gemini, 11 to 97 with DeepSeek, 18 with Llama 3. OpenAI's models begin a reply with 3 more
// (https://github.com/openai/openai-cookbook, How_to_count_tokens_with_tiktoken). The templates of gpt-oss, Llama 3.1
// and Qwen put up to 70, 30 and 25 before the first message. Up to 190 are recorded for xAI and 1,200 for Cohere; for
// others nothing is known. All these count as aroundAny.
var framings = []struct {
	name   string
	tokens int64
}{
	{"gpt-oss", 128},
	{"claude", 64},
	{"gpt-", 32},
	{"chatgpt-4o", 32},
	{"o1", 32},
	{"o3", 32},
	{"o4", 32},
	{"gemini-", 32},
	{"deepseek-", 192},
	{"llama-3", 96},
	{"llama3", 96},
	{"qwen2", 96},
	{"qwen3", 96},
}

// Around returns an upper bound of the tokens added to a request to a model, whose name may begin with a vendor.
func Around(model string) int64 {
	name := strings.ToLower(model)
	name = name[strings.LastIndexByte(name, '/')+1:]
	if _, rest, found := strings.Cut(name, "anthropic."); found { // Bedrock's, after a region
		name = rest
	}
	for _, f := range framings {
		if strings.HasPrefix(name, f.name) {
			return f.tokens
		}
	}
	return aroundAny
}
