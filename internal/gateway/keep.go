package gateway

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"weir/internal/capacity"
	"weir/internal/conversation"
	"weir/internal/dialect"
	"weir/internal/llm"
	"weir/internal/stored"
	"weir/internal/telemetry"
)

// keepWithin bounds the wait for the database to store a reply or response.
const keepWithin = 5 * time.Second

// recall inserts the stored conversation that the request continues into its body, if the operation supports that. By
// then the model and the remaining limits are known.
func (in *intake) recall() error {
	if in.Op.Kept == nil {
		return nil
	}
	// A caller that has exhausted a limit is refused before the stored conversation is read. Nothing is reserved yet,
	// because the size of the request is not known.
	if err := in.server.limits.Look(in.caller(), in.estimateTokens()); err != nil {
		return err
	}
	owner := conversation.Owner{
		Account: in.principal.Account().ID, Scope: in.principal.Key().ID,
		Token: llm.NewSecret(in.token),
	}
	var memory *conversation.Memory
	if in.message != nil {
		memory = in.message.Memory
	}
	body, turn, err := in.server.kept.Expand(in.r.Context(), owner, in.Body, memory, forReading(&in.held))
	if err != nil && in.r.Context().Err() != nil {
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
	if turn != nil && in.Op.Op == llm.OpChat { // a compaction continues a stored conversation, but is not stored
		in.kept = &keeping{in.server.kept, in.Op, in.r, turn, owner, newUnkept(in)}
	}
	if &body[0] == &in.Body[0] {
		return nil // the body is unchanged
	}
	in.Body = body
	return in.scanAgain()
}

// scanAgain reads the head of a body into which a stored conversation was inserted.
func (in *intake) scanAgain() error {
	turn, err := in.held.Turn(len(in.Body))
	if err != nil {
		return err
	}
	defer turn.End()
	model := in.Head.Model // may be the default model
	in.Head, err = in.Op.Scan(in.Body, in.r)
	in.Head.Model = model
	return err
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
func (in *intake) echo() []llm.Field {
	if in.Op.Echo == nil {
		return nil
	}
	return append(in.Op.Echo(in.Body), in.kept.echo()...)
}

// keeping stores the answer of a request so that a later request can continue from it. A nil one stores nothing.
type keeping struct {
	service *conversation.Service
	op      *dialect.Operation
	r       *http.Request
	turn    *conversation.Turn
	owner   conversation.Owner
	unkept  unkept
}

// stores reports whether the answer is stored under an id of its own.
func (k *keeping) stores() bool { return k != nil && k.turn.IsStored() }

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
	ctx, cancel := context.WithTimeout(context.WithoutCancel(k.r.Context()), keepWithin)
	defer cancel()
	err := k.service.Keep(ctx, k.owner, k.turn, answer)
	if err != nil {
		k.unkept.note("a response was not kept", stored.Response, err)
	}
	return err == nil
}

// keepEvent stores the answer that the data of an event holds, if any.
func (k *keeping) keepEvent(data []byte) {
	if k != nil {
		k.keep(k.op.Kept(data))
	}
}

// keepEncoded stores the answer that an encoder has built from a stream.
func (k *keeping) keepEncoded(e dialect.Encoder) {
	if encoder, ok := e.(dialect.Keeper); ok && k != nil {
		k.keep(encoder.Kept())
	}
}

// unkept counts and logs replies and responses of a request that were not stored.
type unkept struct {
	metrics          *telemetry.Metrics
	log              *slog.Logger
	request, account string // ids
}

// newUnkept returns the counter of a request.
func newUnkept(in *intake) unkept {
	return unkept{in.server.metrics, in.server.log, in.id.text, in.principal.Account().ID}
}

// note counts and logs a reply or response that was not stored.
func (u *unkept) note(what string, kind stored.Kind, err error) {
	log := u.log.Error
	if why, ok := errors.AsType[stored.Refusal](err); ok {
		u.metrics.NotKept(kind, why)
		log = u.log.Info // there may be as many as requests
	}
	log(what, "request", u.request, "account", u.account, "err", err)
}
