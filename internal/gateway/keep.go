package gateway

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"time"

	"weir/internal/conversation"
	"weir/internal/kept"
	"weir/internal/llm"
)

// keepWithin is how long a request waits for the database to keep something of it.
const keepWithin = 5 * time.Second

// recall puts what the request goes on from into its body, where answers of its
// wire format are kept. Its model is known by then, and what of its limits is left.
func (c *call) recall() error {
	if c.op.Kept == nil {
		return nil
	}
	if err := c.lookAtLimits(); err != nil {
		return err
	}
	body, turn, err := c.server.kept.Expand(c.r.Context(), c.owner(), c.body, c.readCapacity())
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
	c.turn = turn
	if &body[0] == &c.body[0] {
		return nil // nothing was put in
	}
	c.body = body
	model := c.head.Model // or the default one
	return c.inTurn(func() (err error) {
		c.head, err = c.op.Scan(c.body, c.r)
		c.head.Model = model
		return err
	})
}

// readCapacity is the memory and turns of the account that asks, to read what is kept.
func (c *call) readCapacity() conversation.Capacity {
	return conversation.Capacity{Turn: c.turnFor, Reserve: func(n int64) error {
		if n <= 0 {
			c.giveBack(-n)
			return nil
		}
		return c.reserve(n)
	}}
}

// ReadCapacity is the same for what does not go through the pipeline. done gives back what is still reserved.
func (s *Server) ReadCapacity(r *http.Request, account string) (capacity conversation.Capacity, done func()) {
	c := &call{server: s, r: r, account: account}
	return c.readCapacity(), func() { c.giveBack(c.reserved) }
}

// echo is what of the request its answer repeats.
func (c *call) echo() []llm.Field {
	if c.op.Echo == nil {
		return nil
	}
	echo := c.op.Echo(c.body)
	if c.turn != nil {
		echo = append(echo, c.turn.Echo()...)
	}
	return echo
}

// owner is to whom the answer belongs.
func (c *call) owner() conversation.Owner {
	return conversation.Owner{
		Account: c.principal.Account().ID, Scope: c.principal.Key().ID,
		Token: llm.NewSecret(c.token),
	}
}

// keep keeps a whole answer before the client has its end, so that the next
// request finds it. Of what cannot be kept the client gets its answer all the
// same: false.
func (c *call) keep(answer []byte) bool {
	if c.turn == nil || answer == nil {
		return true
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.r.Context()), keepWithin)
	defer cancel()
	err := c.server.kept.Keep(ctx, c.owner(), c.turn, answer)
	if err != nil {
		c.notKept("a response was not kept", kept.Response, err)
	}
	return err == nil
}

// keepEvent keeps the answer that the data of an event holds, if any.
func (c *call) keepEvent(data []byte) {
	if c.turn != nil {
		c.keep(c.op.Kept(data))
	}
}

// keepEnd keeps the answer that stands in the end of a stream.
func (c *call) keepEnd(stream []byte) {
	if c.turn == nil {
		return
	}
	events := c.op.Framing.NewReader(bytes.NewReader(stream), len(stream)+1)
	for {
		event, err := events.Next()
		if err != nil {
			return
		}
		c.keepEvent(event.Data)
	}
}
