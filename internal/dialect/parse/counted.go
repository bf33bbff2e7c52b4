package parse

import (
	"errors"
	"fmt"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

var errNoCount = errors.New("the reply has no count of tokens")

// Counted returns a decoder for replies to token counting, with the count in the named member. Token counting is
// free.
func Counted(member string) func(body []byte, q *llm.Quirks) (*llm.Reply, error) {
	return func(body []byte, _ *llm.Quirks) (*llm.Reply, error) {
		if err := rawjson.Validate(body, MaxDepth); err != nil {
			return nil, fmt.Errorf("the reply is not JSON: %w", err)
		}
		r := &llm.Reply{Reported: true}
		var c Counter
		if !c.Count(&r.Counted, rawjson.Get(body, member)) {
			return nil, fmt.Errorf("%w in %q", errNoCount, member)
		}
		return r, nil
	}
}
