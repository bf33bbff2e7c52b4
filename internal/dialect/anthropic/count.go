package anthropic

import (
	"errors"
	"fmt"

	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

var errNoCount = errors.New("anthropic: the reply has no input_tokens")

// DecodeCount is DecodeReply for a count of tokens, which costs nothing.
func DecodeCount(body []byte, _ *llm.Quirks) (*llm.Reply, error) {
	if err := rawjson.Validate(body, maxDepth); err != nil {
		return nil, fmt.Errorf("anthropic: the reply is not JSON: %w", err)
	}
	r := &llm.Reply{Reported: true}
	var c parse.Counter
	if !c.Count(&r.Counted, rawjson.Get(body, "input_tokens")) {
		return nil, errNoCount
	}
	return r, nil
}

// EncodeCount is EncodeReply for a count of tokens.
func EncodeCount(dst []byte, r *llm.Reply) []byte {
	return append(rawjson.AppendCount(dst, `{"input_tokens":`, r.Counted), '}')
}
