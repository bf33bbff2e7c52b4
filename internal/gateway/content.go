package gateway

import (
	"weir/internal/contentlog"
	"weir/internal/llm"
)

// logContent begins to collect the content of the request, if its account and key have that switched on.
func (x *exchange) logContent() {
	in := x.in
	percent := in.principal.ContentPercent()
	if percent == 0 || in.server.content == nil || !contentlog.Sampled(in.id.UUID, percent) {
		return
	}
	of := contentlog.Request{ID: in.id.UUID, Account: in.principal.Account().ID, Key: in.principal.Key().ID}
	x.content = in.server.content.Begin(of, *in.pooled, in.Op.Multipart) // as received
}

// logWhole collects a whole answer. Vectors and recordings are left out.
func (x *exchange) logWhole(w *wholeReply) {
	if x.content == nil {
		return
	}
	if w.reply == nil || len(w.reply.Choices) == 0 {
		if op := x.in.Op; op.Op != llm.OpEmbed && !w.attempt.Spoken.Raw {
			x.content.JSON(withoutCost(x.in.principal, w.body))
		}
		return
	}
	for i := range w.reply.Choices {
		choice := &w.reply.Choices[i]
		events := eventsOf(choice)
		events = append(events, llm.Event{Kind: llm.EventFinish, Choice: choice.Index, Finish: choice.Finish})
		for j := range events {
			x.content.Event(&events[j])
		}
	}
}
