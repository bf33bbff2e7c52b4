package responses

import (
	"net/http"

	"weir/internal/dialect"
	"weir/internal/dialect/compose"
	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// countPath is the path of token counting, and counted the member of a reply with the count.
const countPath, counted = "/responses/input_tokens", "input_tokens"

// counting returns the operation that counts tokens
// (https://platform.openai.com/docs/api-reference/responses/input-tokens). Users report that it is free
// (https://community.openai.com/t/does-post-responses-input-tokens-cost-money/1380071, undated copy).
func counting() *dialect.Operation {
	return &dialect.Operation{
		Op: llm.OpCountTokens, Silent: true, Free: true, Routes: []string{"POST /v1" + countPath},
		Scan: ScanCount, DecodeRequest: DecodeRequest,
		EncodeReply: dialect.EncodeCount(`{"object":"response.input_tokens","` + counted + `":`),
		Path:        dialect.At(countPath), Splice: compose.SpliceModel, DecodeReply: parse.Counted(counted),
		Stamp: dialect.Unstamped,
	}
}

// ScanCount implements Scan for token counting. It refuses a previous response, because the gateway stores responses.
func ScanCount(body []byte, r *http.Request) (llm.Head, error) {
	h, err := Scan(body, r)
	if err == nil && rawjson.Present(rawjson.Get(body, "previous_response_id")) {
		err = llm.Invalid("previous_response_id",
			"Token counting covers only the input. Leave previous_response_id out, and send the whole conversation "+
				"as input.")
	}
	return h, err
}

// counter counts the tokens of a response's input: "the exact count the model will receive"
// (https://developers.openai.com/api/docs/guides/token-counting, undated copy). It accepts the fields that decide the
// input (https://github.com/openai/openai-node/blob/master/src/resources/responses/input-tokens.ts, 011cd36). OpenAI
// does not document whether it charges for the count, so no provider of the catalogue uses it.
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
