package responses

import (
	"net/http"

	"weir/internal/dialect"
	"weir/internal/dialect/compose"
	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// countPath is where tokens are counted, and counted the member of a reply that is the count.
const countPath, counted = "/responses/input_tokens", "input_tokens"

// counting is the count of tokens as an operation (https://platform.openai.com/docs/api-reference/responses/input-tokens).
// People say that it is free (https://community.openai.com/t/does-post-responses-input-tokens-cost-money/1380071, undated
// copy).
func counting() *dialect.Operation {
	return &dialect.Operation{
		Op: llm.OpCountTokens, Silent: true, Free: true, Routes: []string{"POST /v1" + countPath},
		Scan: ScanCount, DecodeRequest: DecodeRequest,
		EncodeReply: dialect.EncodeCount(`{"object":"response.input_tokens","` + counted + `":`),
		Path:        dialect.At(countPath), Splice: compose.SpliceModel, DecodeReply: parse.Counted(counted),
		Stamp: dialect.Unstamped,
	}
}

// ScanCount is Scan for a request for a count of tokens, which goes on from no response: those are kept here.
func ScanCount(body []byte, r *http.Request) (llm.Head, error) {
	h, err := Scan(body, r)
	if err == nil && rawjson.Present(rawjson.Get(body, "previous_response_id")) {
		err = llm.Invalid("previous_response_id",
			"Tokens are counted of the input alone. Leave previous_response_id out, and send the whole conversation as input.")
	}
	return h, err
}

// counter counts the tokens of a response's input: "the exact count the model will receive"
// (https://developers.openai.com/api/docs/guides/token-counting, undated copy). It takes what decides the input
// (https://github.com/openai/openai-node/blob/master/src/resources/responses/input-tokens.ts, 011cd36). OpenAI does not
// say whether it charges for it, so no provider of the catalogue has it.
func counter() *dialect.Counter {
	return &dialect.Counter{
		Name: Name, Path: dialect.At(countPath), Media: true, Decode: parse.Counted(counted),
		Body: func(chat []byte, _ string) []byte {
			return compose.Only(chat, rawjson.Names{
				"model", "input", "instructions", "tools", "tool_choice", "parallel_tool_calls", "reasoning", "text",
				"truncation", "conversation", "previous_response_id",
			})
		},
	}
}
