package gateway

import (
	"context"
	"errors"
	"net/http"
	"time"

	"weir/internal/capacity"
	"weir/internal/conversation"
	"weir/internal/dialect"
	"weir/internal/kept"
	"weir/internal/llm"
)

// keepWithin bounds the wait for the database to store a reply or response.
const keepWithin = 5 * time.Second

// recall inserts the stored conversation that the request continues into its body, if the operation supports that. By
// then the model and the remaining limits are known.
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
	body, turn, err := c.server.kept.Expand(c.r.Context(), owner, c.Body, forReading(&c.held))
	if err != nil && c.r.Context().Err() != nil {
		return capacity.ErrGone
	}
	if _, told := errors.AsType[*llm.Error](err); err != nil && !told {
		return &llm.Error{
			Code:       llm.CodeOverloaded,
			Message:    "The stored conversation cannot be read right now. Try again shortly.",
			RetryAfter: time.Second, Err: err,
		}
	}
	if err != nil {
		return err
	}
	if turn != nil && c.Op.Op == llm.OpChat { // a compaction continues a stored conversation, but is not stored
		c.kept = &keeping{c, turn, owner}
	}
	if &body[0] == &c.Body[0] {
		return nil // the body is unchanged
	}
	c.Body = body
	model := c.Head.Model // may be the default model
	return c.held.InTurn(len(c.Body), func() (err error) {
		c.Head, err = c.Op.Scan(c.Body, c.r)
		c.Head.Model = model
		return err
	})
}

// forReading returns memory and turns of the caller's account for reading stored conversations.
func forReading(h *capacity.Held) conversation.Capacity {
	return conversation.Capacity{Turn: h.TurnFor, Reserve: func(n int64) error {
		if n <= 0 {
			h.Release(-n)
			return nil
		}
		return h.Reserve(n)
	}}
}

// ReadCapacity returns the same for requests outside the pipeline. done releases the memory that is still reserved.
func (s *Server) ReadCapacity(r *http.Request, account string) (held conversation.Capacity, done func()) {
	h := s.capacity.Hold(&capacity.Client{Request: r}, account)
	return forReading(&h), h.ReleaseAll
}

// echo returns the fields of the request that its answer repeats.
func (c *call) echo() []llm.Field {
	if c.Op.Echo == nil {
		return nil
	}
	return append(c.Op.Echo(c.Body), c.kept.echo()...)
}

// keeping stores the answer of a request so that a later request can continue from it. A nil one stores nothing.
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

// keep stores a whole answer before the client receives its end. It returns false if the answer cannot be stored; the
// client gets it all the same.
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

// keepEvent stores the answer that the data of an event holds, if any.
func (k *keeping) keepEvent(data []byte) {
	if k != nil {
		k.keep(k.call.Op.Kept(data))
	}
}

// keepEncoded stores the answer that an encoder has built from a stream.
func (k *keeping) keepEncoded(e dialect.Encoder) {
	if encoder, ok := e.(dialect.Keeper); ok && k != nil {
		k.keep(encoder.Kept())
	}
}
