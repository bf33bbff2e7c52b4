package gateway

import (
	"strconv"

	"weir/internal/capacity"
	"weir/internal/dialect"
	"weir/internal/llm"
)

// countHere answers a request to count tokens with an estimate by Weir's own vocabulary, because the model's provider
// cannot count in the client's wire format. It calls no provider.
func (c *call) countHere() error {
	if err := c.held.InTurn(capacity.TreeWork(c.Body), func() error { _, err := c.Tree(); return err }); err != nil {
		return err
	}
	body := c.Op.EncodeReply(nil, &llm.Reply{Counted: c.InputTokens()})
	h := c.w.Header()
	c.settleLimits()
	c.commonHeaders(h, c.id.text)
	h["Content-Type"] = []string{"application/json"}
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	h["X-Weir-Estimated"] = []string{"true"}
	dialect.WriteBody(c.w, body, c.server.timing.Write)
	return nil
}
