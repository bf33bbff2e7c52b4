package gateway

import (
	"bytes"
	"cmp"
	"net/http"
	"strconv"
	"strings"
	"time"

	"weir/internal/answercache"
	"weir/internal/capacity"
	"weir/internal/contentlog"
	"weir/internal/dialect"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/rawjson"
	"weir/internal/telemetry"
	"weir/internal/tracing"
)

// sendStored answers by a stored answer. It has a row in the ledger, and costs nothing.
func (x *exchange) sendStored(a *answercache.Answer) error {
	in := x.in
	if n := int64(len(a.Body)); n > capacity.FreeAnswer && !in.held.TryAnswer(capacity.AnswerCopies*n) {
		return in.held.Refuse(telemetry.AccountBodies)
	}
	provider, model, _ := strings.Cut(a.Model, "/")
	if err := recordStored(x, a, provider, model); err != nil {
		return err
	}
	if in.server.answers.Tokens {
		x.spent.tokens = a.Tokens
	}
	x.settleLimits()
	if x.content = captureOf(in); x.content != nil {
		collectStored(in, x.content, a.Body)
	}
	told := answered{
		ID: in.id.text, Provider: provider, Model: a.Model, Cost: llm.Money(0).String(), Type: a.Type,
		Dropped: a.Dropped,
	}
	if in.Head.Model != a.Model {
		told.Requested = in.Head.Model
	}
	in.cacheTold = answercache.Hit
	h := in.w.Header()
	age := in.server.ledger.Now().Sub(a.Created)
	h["Age"] = []string{strconv.FormatInt(max(0, int64(age/time.Second)), 10)} // RFC 9111, section 5.1
	if a.Saved != nil {
		h[answercache.SavedHeader] = []string{llm.Money(*a.Saved).String()}
	}
	x.releaseBody() // however long the client takes
	if in.Head.Stream {
		streamStored(x, a.Body, told)
		return nil
	}
	in.answerHeaders(&told, cmp.Or(told.Type, "application/json"))
	h["Content-Length"] = []string{strconv.Itoa(len(a.Body))}
	in.w.WriteHeader(http.StatusOK)
	dialect.WriteBody(in.w, a.Body, in.server.timing.Write)
	return nil
}

// recordStored writes the row of a request that is answered by a stored answer, and its span.
func recordStored(x *exchange, a *answercache.Answer, provider, model string) error {
	in := x.in
	record := ledger.Attempt{
		ID:      ledger.AttemptID{Request: in.id.UUID, N: uint16(in.earlier + 1)},
		Account: in.principal.Account().ID, Key: in.principal.Key().ID,
		Requested: in.Head.Model, Provider: provider, Model: model,
		Opened: in.server.ledger.Now().UTC().Truncate(time.Microsecond), Arrived: in.arrived,
		Stream: in.Head.Stream, Attribution: in.own.attribution, Parts: in.principal.Parts(&in.own.attribution),
	}
	s := ledger.Settlement{
		Outcome: ledger.OutcomeOK, Provenance: ledger.Exact, Counts: true, Finish: llm.FinishReason(a.Finish),
		Cached: ledger.Cached{Hit: true},
	}
	if a.Saved != nil {
		s.Cached.Saved = llm.Money(*a.Saved)
	}
	hold, err := in.server.ledger.Record(record, s)
	if err != nil {
		return err
	}
	in.server.answers.Answered(int64(s.Cached.Saved))
	if in.trace != nil {
		call := tracing.Call{Op: in.Op.Op, System: provider, MaxOutput: in.Head.MaxOutput, Choices: in.Head.Choices}
		for i := range in.targets {
			if p := in.targets[i].Provider; p.Name() == provider {
				call.System = p.TraceName()
			}
		}
		in.trace.Attempt(hold.Attempt(), &call).End(&s, &s.Cost, hold.Charge())
	}
	return nil
}

// streamStored sends a stored stream: its events at once, or each after a pause.
func streamStored(x *exchange, body []byte, told answered) {
	in := x.in
	upstream := x.reading.begin() // nobody reads an answer: it ends with the client
	defer upstream.end()
	x.out = newClientStream(in, upstream, told)
	defer x.out.close()
	pace := in.server.answers.Pace
	if pace <= 0 {
		x.out.write(body)
		return
	}
	frames := in.Op.Framing.NewReader(bytes.NewReader(body), maxFrame)
	for len(body) > 0 {
		frame, err := frames.Next()
		n := len(frame.Raw)
		if err != nil || n == 0 || n > len(body) {
			break // the end marker
		}
		x.out.write(body[:n])
		body = body[n:]
		if len(body) > 0 && !in.server.pause(&upstream.Lifetime, pace) {
			return
		}
	}
	if len(body) > 0 {
		x.out.write(body)
	}
}

// collectStored adds a stored answer to the content log, in the form of a provider's answer if its wire format can be
// decoded: else as the client got it.
func collectStored(in *intake, to *contentlog.Capture, body []byte) {
	op := in.Op
	switch {
	case op.Op == llm.OpEmbed: // vectors are left out
	case !in.Head.Stream:
		collectStoredWhole(op, to, body)
	case op.NewDecoder == nil:
		to.JSON(rawjson.AppendString(nil, string(body)))
	default:
		decoder := op.NewDecoder(&llm.Quirks{})
		frames := op.Framing.NewReader(bytes.NewReader(body), maxFrame)
		for {
			frame, err := frames.Next()
			if err != nil {
				return
			}
			events, err := decoder.Decode(nil, frame)
			for i := range events {
				to.Event(&events[i])
			}
			if err != nil {
				return
			}
		}
	}
}

func collectStoredWhole(op *dialect.Operation, to *contentlog.Capture, body []byte) {
	if op.DecodeReply == nil {
		to.JSON(body)
		return
	}
	reply, err := op.DecodeReply(body, &llm.Quirks{})
	if err != nil || len(reply.Choices) == 0 {
		to.JSON(body)
		return
	}
	for i := range reply.Choices {
		choice := &reply.Choices[i]
		events := append(eventsOf(choice), llm.Event{
			Kind: llm.EventFinish, Choice: choice.Index, Finish: choice.Finish,
		})
		for j := range events {
			to.Event(&events[j])
		}
	}
}
