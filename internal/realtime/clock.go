package realtime

import (
	"context"
	"errors"
	"time"

	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/provider"
	"weir/internal/quote"
	"weir/internal/ratelimit"
	"weir/internal/rawjson"
)

const (
	// aheadOf is how long before the end of a paid minute the next one is opened. It exceeds what it takes to end the
	// session if that one cannot be paid.
	aheadOf = 5 * time.Second
	// openWithin is how long the budgets may take to reserve a minute.
	openWithin = 2 * time.Second
	// clockStep is the pause between two looks at the clock.
	clockStep = 100 * time.Millisecond
	// maxOverdue bounds the minutes that are opened after they have begun: xAI ends a session after 120 minutes.
	maxOverdue = 120
	// byDuration is the type of turn detection with which a session is charged by its duration.
	byDuration = "server_vad"
)

// clock meters a session that the provider charges by its duration, as xAI does with turn detection, at no price for
// tokens: "Sessions using the default server_vad turn detection are billed for session duration. Push-to-talk sessions
// are billed only for audio sent and received" (https://docs.x.ai/developers/pricing, read on 2026-09-30). Each minute
// is an attempt, which is opened before the minute begins. Turn detection cannot be turned off, because a client that
// sends sound faster than people speak would cost more than the minutes.
//
// The page does not say how a begun minute counts: the last one is estimated by its seconds, at most the whole.
type clock struct {
	meter *meter
	on    bool

	// The rest belongs to the goroutine that begins the session, and then to that of run.
	minute *ledger.Hold
	next   *ledger.Hold // opened, and not begun; nil for none
	until  time.Time    // end of minute
	ended  time.Time    // when the provider's side was closed; zero before
}

// aim has the clock meter the session if its price has a rate by time and none for tokens. It returns the price of the
// session.
func (c *clock) aim(p llm.Price) llm.Price {
	tokens := llm.Classes(0)
	for class := range llm.Class(llm.NumTokens) {
		tokens = tokens.With(class)
	}
	c.on = p.Known() && p.Rates[llm.Milliseconds].Known() && p.Without(tokens) == tokens
	if !c.on {
		return p
	}
	for class := range llm.Class(llm.NumTokens) {
		p.Rates[class] = llm.Free
	}
	if !p.Rates[llm.Requests].Known() {
		p.Rates[llm.Requests] = llm.Free
	}
	p.Tiers, p.Modes, p.Version = nil, nil, p.Version+"+session"
	return p
}

// start opens the session's first minute, which begins now. Times are this machine's: those of the ledger may be set
// back, and then a minute would be longer.
func (c *clock) start(ctx context.Context) (err error) {
	c.until = c.meter.server.o.Clock().Add(time.Minute)
	if c.minute, err = c.open(ctx, false); err != nil {
		return err
	}
	return c.minute.Use()
}

// open opens the attempt for a minute; always even if the budgets have no room for it.
func (c *clock) open(ctx context.Context, always bool) (*ledger.Hold, error) {
	var limited ratelimit.Reservation
	if !always {
		if err := c.meter.limit(ctx, &limited, 0); err != nil {
			return nil, err
		}
		defer limited.Settle(0)
	}
	o := c.meter.unit(llm.Usage{llm.Milliseconds: minuteMillis})
	o.always = always
	h, _, err := c.meter.open(ctx, o)
	if h != nil && always {
		return h, nil
	}
	return h, err
}

// unit returns an attempt that reads and writes no tokens.
func (m *meter) unit(used llm.Usage) *opening {
	return &opening{model: m.target.Model, Turn: quote.Turn{Price: m.price, Terms: m.terms, Fixed: used}}
}

// part returns a response as a part of the session's minutes, if those are charged.
func (c *clock) part(o *opening) *opening {
	if c.on {
		o.free, o.Fixed[llm.Requests] = true, 0
	}
	return o
}

// run opens each minute before it begins. The error is why the next one could not be opened.
func (c *clock) run(ctx context.Context) error {
	tick := time.NewTicker(clockStep)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
		if err := c.advance(ctx); err != nil {
			return err
		}
	}
}

// advance follows the clock: it settles the minutes that are over, and opens those that begin soon.
func (c *clock) advance(ctx context.Context) error {
	now := c.meter.server.o.Clock()
	c.catchUp(now)
	if c.next != nil || now.Before(c.until.Add(-aheadOf)) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, openWithin)
	defer cancel()
	var err error
	if c.next, err = c.open(ctx, false); errors.Is(err, context.DeadlineExceeded) {
		return llm.Errorf(llm.CodeOverloaded, "The budgets cannot be reached. Connect again.")
	}
	return err
}

// catchUp settles the minutes that are over. Those that have begun without an attempt, because the process or its clock
// stood still, get one now, even if the budgets have no room.
func (c *clock) catchUp(now time.Time) {
	for range maxOverdue {
		if now.Before(c.until) {
			return
		}
		if c.minute != nil {
			c.settle(c.minute, minuteMillis, ledger.OutcomeOK)
		}
		var err error
		if c.minute, c.next = c.next, nil; c.minute == nil {
			c.minute, err = c.openNow()
		}
		if err == nil {
			err = c.minute.Use()
		}
		if err != nil {
			c.meter.server.o.Log.Error("a minute of a session could not be recorded", "session", c.meter.id.String(),
				"err", err)
		}
		c.until = c.until.Add(time.Minute)
	}
}

// openNow opens the attempt for a minute that has begun.
func (c *clock) openNow() (*ledger.Hold, error) {
	ctx, cancel := context.WithTimeout(context.Background(), openWithin)
	defer cancel()
	return c.open(ctx, true)
}

// settle settles a minute of which that much was used: the whole for certain, a part of it as an estimate.
func (c *clock) settle(h *ledger.Hold, millis int64, outcome ledger.Outcome) {
	st := ledger.Settlement{
		Outcome: outcome, Provenance: ledger.Exact, Usage: llm.Usage{llm.Milliseconds: millis}, Counts: millis > 0,
	}
	if millis > 0 && millis < minuteMillis {
		st.Provenance, st.AtMost = ledger.Estimated, h.Attempt().Hold
	}
	c.meter.settle(h, st)
}

// stop settles the clock after the provider's side has ended. What the session has waited since then, such as for a
// client that does not read, costs nothing.
func (c *clock) stop(outcome ledger.Outcome) {
	if !c.on {
		return
	}
	now := c.ended
	if now.IsZero() {
		now = c.meter.server.o.Clock()
	}
	c.catchUp(now)
	if c.next != nil {
		c.settle(c.next, 0, ledger.OutcomeOK)
	}
	if c.minute == nil {
		return
	}
	used := now.Sub(c.until.Add(-time.Minute))
	whole := (used + time.Second - 1).Truncate(time.Second) // begun seconds
	c.settle(c.minute, min(max(1000, whole.Milliseconds()), minuteMillis-1), outcome)
}

// refused settles the first minute of a session that the gateway could not open. Unless the provider has refused it, it
// may have begun.
func (c *clock) refused(err error) {
	if c.minute == nil {
		return
	}
	st := ledger.Settlement{
		Outcome: ledger.OutcomeFailed, Provenance: ledger.Exact, Code: llm.CodeProviderUnavailable,
	}
	if f, ok := errors.AsType[*provider.Failure](err); ok && f.Sent() && !f.Refusal() {
		st.Provenance, st.AtMost = ledger.Estimated, c.minute.Attempt().Hold
	}
	c.meter.settle(c.minute, st)
	c.minute = nil
}

// message opens the attempt of a text that the client adds to the conversation, where those are charged, and has it
// sent: "Every conversation.item.create event you send from the client is billed", except results of tools, and sound
// (https://docs.x.ai/developers/models/speech-to-speech, read on 2026-09-30).
func (c *clock) message(ctx context.Context, frame []byte, send func([]byte) error) error {
	item := rawjson.Get(frame, "item")
	if err := spelled(item, rawjson.Names{"type", "content"}); err != nil && c.on {
		return err
	}
	if !c.on || !isMessage(item) {
		return send(frame)
	}
	var limited ratelimit.Reservation
	if err := c.meter.limit(ctx, &limited, 0); err != nil {
		return err
	}
	defer limited.Settle(0)
	h, _, err := c.meter.open(ctx, c.meter.unit(llm.Usage{llm.Requests: 1}))
	if err == nil {
		err = h.Use()
	}
	if err != nil {
		return err
	}
	st := ledger.Settlement{
		Outcome: ledger.OutcomeOK, Provenance: ledger.Exact, Usage: llm.Usage{llm.Requests: 1}, Counts: true,
	}
	if err = send(frame); err != nil { // a part of it may have arrived
		st.Outcome, st.Provenance, st.AtMost = ledger.OutcomeCut, ledger.Estimated, h.Attempt().Hold
	}
	c.meter.settle(h, st)
	return err
}

// isMessage reports whether an item is charged as a text.
func isMessage(item []byte) bool {
	if rawjson.Text(rawjson.Get(item, "type")) == "function_call_output" {
		return false
	}
	pieces := 0
	for _, piece := range rawjson.Elements(rawjson.Get(item, "content")) {
		switch rawjson.Text(rawjson.Get(piece, "type")) {
		case "input_audio", "audio":
			pieces++
		default:
			return true
		}
	}
	return pieces == 0
}

// permits returns an error for settings of a session, or of a response, that cost more than its minutes.
func (c *clock) permits(settings []byte) error {
	if !c.on {
		return nil
	}
	found, path := detection(settings)
	if found != nil && rawjson.Text(rawjson.Get(found, "type")) != byDuration {
		return llm.Invalid("session."+path[len(path)-1], "The provider charges this model by the duration of a "+
			`session only with turn detection. Set its type to "`+byDuration+`".`)
	}
	for _, tool := range rawjson.Elements(rawjson.Get(settings, "tools")) {
		if err := spelled(tool, rawjson.Names{"type"}); err != nil {
			return err
		}
		if kind := rawjson.Text(rawjson.Get(tool, "type")); kind != "function" {
			return llm.Invalidf("tools", "The provider charges tools of the type %.100q separately, and does not "+
				"report their calls. Send tools of the type function.", kind)
		}
	}
	return nil
}
