package gateway

import (
	"context"
	"errors"
	"net/http"
	"time"

	"weir/internal/conversation"
	"weir/internal/dialect"
	"weir/internal/kept"
	"weir/internal/llm"
)

// keepWithin is how long a request waits for the database to keep something of it.
const keepWithin = 5 * time.Second

// recall puts what the request goes on from into its body, where answers of its
// wire format are kept. Its model is known by then, and what of its limits is left.
func (c *call) recall() error {
	if c.Op.Kept == nil {
		return nil
	}
	if err := c.lookAtLimits(); err != nil {
		return err
	}
	owner := conversation.Owner{
		Account: c.principal.Account().ID, Scope: c.principal.Key().ID,
		Token: llm.NewSecret(c.token),
	}
	body, turn, err := c.server.kept.Expand(c.r.Context(), owner, c.Body, c.held.forReading())
	if err != nil && c.r.Context().Err() != nil {
		return errGone
	}
	if _, told := errors.AsType[*llm.Error](err); err != nil && !told {
		return &llm.Error{
			Code:       llm.CodeOverloaded,
			Message:    "What the request goes on from cannot be read right now. Try again shortly.",
			RetryAfter: time.Second, Err: err,
		}
	}
	if err != nil {
		return err
	}
	if turn != nil && c.Op.Op == llm.OpChat { // a compaction goes on from what is kept, and is not kept
		c.kept = &keeping{c, turn, owner}
	}
	if &body[0] == &c.Body[0] {
		return nil // nothing was put in
	}
	c.Body = body
	model := c.Head.Model // or the default one
	return c.held.inTurn(len(c.Body), func() (err error) {
		c.Head, err = c.Op.Scan(c.Body, c.r)
		c.Head.Model = model
		return err
	})
}

// forReading is the memory and turns of the account that asks, to read what is kept.
func (h *capacity) forReading() conversation.Capacity {
	return conversation.Capacity{Turn: h.turnFor, Reserve: func(n int64) error {
		if n <= 0 {
			h.giveBack(-n)
			return nil
		}
		return h.reserve(n)
	}}
}

// ReadCapacity is the same for what does not go through the pipeline. done gives back what is still reserved.
func (s *Server) ReadCapacity(r *http.Request, account string) (held conversation.Capacity, done func()) {
	h := &capacity{server: s, client: &client{r: r}, account: account}
	return h.forReading(), func() { h.giveBack(h.reserved) }
}

// echo is what of the request its answer repeats.
func (c *call) echo() []llm.Field {
	if c.Op.Echo == nil {
		return nil
	}
	return append(c.Op.Echo(c.Body), c.kept.echo()...)
}

// keeping is what is to be kept with the answer of a request, so that the next one finds it. A
// nil one keeps nothing.
type keeping struct {
	call  *call
	turn  *conversation.Turn
	owner conversation.Owner
}

func (k *keeping) echo() []llm.Field {
	if k == nil {
		return nil
	}
	return k.turn.Echo()
}

// keep keeps a whole answer before the client has its end. Of what cannot be kept the client
// gets its answer all the same: false.
func (k *keeping) keep(answer []byte) bool {
	if k == nil || answer == nil {
		return true
	}
	c := k.call
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.r.Context()), keepWithin)
	defer cancel()
	err := c.server.kept.Keep(ctx, k.owner, k.turn, answer)
	if err != nil {
		c.notKept("a response was not kept", kept.Response, err)
	}
	return err == nil
}

// keepEvent keeps the answer that the data of an event holds, if any.
func (k *keeping) keepEvent(data []byte) {
	if k != nil {
		k.keep(k.call.Op.Kept(data))
	}
}

// keepEncoded keeps the answer whose stream an encoder has finished.
func (k *keeping) keepEncoded(e dialect.Encoder) {
	if encoder, ok := e.(dialect.Keeper); ok && k != nil {
		k.keep(encoder.Kept())
	}
}
