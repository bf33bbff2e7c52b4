package gateway

import (
	"weir/internal/contentlog"
	"weir/internal/llm"
)

// captureOf begins to collect the content of a request; nil unless its account and key have that switched on.
func captureOf(in *intake) *contentlog.Capture {
	percent := in.principal.ContentPercent()
	if percent == 0 || in.server.content == nil || !contentlog.Sampled(in.id.UUID, percent) {
		return nil
	}
	of := contentlog.Request{ID: in.id.UUID, Account: in.principal.Account().ID, Key: in.principal.Key().ID}
	return in.server.content.Begin(of, received(in), in.Op.Multipart)
}

// received returns the body as it was received: in a buffer of the pool, or as a message of a WebSocket.
func received(in *intake) []byte {
	if in.message != nil {
		return in.message.Body
	}
	return *in.pooled
}

// collect adds a whole answer. Vectors and recordings are left out.
func (w *wholeReply) collect(to *contentlog.Capture, in *intake) {
	if to == nil {
		return
	}
	if w.reply == nil || len(w.reply.Choices) == 0 {
		if op := in.Op; op.Op != llm.OpEmbed && !w.attempt.Spoken.Raw {
			to.JSON(withoutCost(in.principal, w.body))
		}
		return
	}
	for i := range w.reply.Choices {
		choice := &w.reply.Choices[i]
		events := eventsOf(choice)
		events = append(events, llm.Event{Kind: llm.EventFinish, Choice: choice.Index, Finish: choice.Finish})
		for j := range events {
			to.Event(&events[j])
		}
	}
}
