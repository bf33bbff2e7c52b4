package gateway

import (
	"strconv"

	"weir/internal/dialect"
	"weir/internal/llm"
)

// countHere answers a request for a count of tokens that the provider of the
// model does not count in the client's wire format: by the vocabulary that
// estimates are made with. The provider is not asked.
func (c *call) countHere() error {
	if err := c.held.inTurn(treeWork(c.Body), func() error { _, err := c.Tree(); return err }); err != nil {
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
