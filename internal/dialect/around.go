package dialect

import "strings"

// aroundAny is more tokens than vendors put around a request whose framing is not known: a preamble, the day, what an
// answer must look like.
const aroundAny = 1024

// framings are the tokens that are put around a request without tools and without a form for its answer, by how the
// names of models begin. What each message is framed with is less than its members in the body are: at most 6 tokens
// (https://huggingface.co/openai/gpt-oss-20b, chat_template.jinja), beside `{"role":"user","content":""}`.
//
// Recorded exchanges of 100 to 400 bytes count 15 to 52 tokens with Claude, thinking included, 21 to 50 with OpenAI's
// models, 7 to 22 with Gemini, 11 to 97 with DeepSeek, 18 with Llama 3. Of OpenAI's a reply is begun with 3 more
// (https://github.com/openai/openai-cookbook, How_to_count_tokens_with_tiktoken). The templates of gpt-oss, Llama 3.1
// and Qwen put up to 70, 30 and 25 before the first message. Of xAI and Cohere up to 190 and 1,200 are recorded, and
// of others nothing is known: theirs is aroundAny.
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

// Around is how many tokens at most are put around a request to a model, which may have a vendor before its name.
func Around(model string) int64 {
	name := strings.ToLower(model)
	name = name[strings.LastIndexByte(name, '/')+1:]
	if _, rest, found := strings.Cut(name, "anthropic."); found { // Bedrock's, behind a region
		name = rest
	}
	for _, f := range framings {
		if strings.HasPrefix(name, f.name) {
			return f.tokens
		}
	}
	return aroundAny
}
