package openai

import (
	"weir/internal/dialect"
	"weir/internal/dialect/compose"
	"weir/internal/dialect/parse"
	"weir/internal/rawjson"
)

// counters count the tokens of a chat on self-hosted servers, which do not charge. llama.cpp's accepts the chat
// unchanged (https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md, 00dc805). vLLM's, which is
// outside the API's path, accepts the inputs of the chat template
// (https://github.com/vllm-project/vllm/blob/main/vllm/entrypoints/serve/tokenize/protocol.py, 030ea52).
func counters() []*dialect.Counter {
	return []*dialect.Counter{{
		Name: "llamacpp", Path: dialect.At("/chat/completions/input_tokens"), Media: true,
		Decode: parse.Counted("input_tokens"), Body: func(chat []byte, _ string) []byte { return chat },
	}, {
		Name: "vllm", Path: dialect.At("/tokenize"), AtRoot: true, Decode: parse.Counted("count"),
		Body: func(chat []byte, _ string) []byte {
			return compose.Only(chat, rawjson.Names{
				"model", "messages", "tools", "add_generation_prompt", "continue_final_message", "add_special_tokens",
				"chat_template", "chat_template_kwargs",
			})
		},
	}}
}
