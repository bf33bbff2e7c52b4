package gateway

import (
	"strconv"

	"weir/internal/capacity"
	"weir/internal/dialect"
	"weir/internal/llm"
)

// countHere answers a request to count tokens with an estimate by Weir's own vocabulary, because the model's provider
// cannot count in the client's wire format. It calls no provider.
func (q *request) countHere() error {
	in := &q.in
	if err := in.decode(); err != nil {
		return err
	}
	body := in.Op.EncodeReply(nil, &llm.Reply{Counted: in.InputTokens()})
	h := in.w.Header()
	q.x.settleLimits()
	in.commonHeaders(dialect.FieldsIn(h), in.id.text)
	h["Content-Type"] = []string{"application/json"}
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	h["X-Weir-Estimated"] = []string{"true"}
	dialect.WriteBody(in.w, body, in.server.timing.Write)
	return nil
}

// decode decodes the body in the request's turn.
func (in *intake) decode() error {
	turn, err := in.held.Turn(capacity.TreeWork(in.Body))
	if err != nil {
		return err
	}
	defer turn.End()
	_, err = in.Tree()
	return err
}
