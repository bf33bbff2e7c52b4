package realtime

import (
	"context"
	"strings"
	"sync"

	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/quote"
	"weir/internal/ratelimit"
	"weir/internal/rawjson"
	"weir/internal/route"
)

const (
	// minuteMillis is how much sound the attempt for transcripts covers, and moreMillis what providers may add to it.
	minuteMillis = 60_000
	moreMillis   = 2_000
	// writtenPerSecond exceeds the tokens of a transcript of a second of speech: people speak three words a second.
	writtenPerSecond = 25
	// heardPerSecond is what a second of sound counts in rate limits, in tokens.
	heardPerSecond = 10
	// itemsPerMinute exceeds the pieces of speech in a minute, each with the prompt of the transcripts.
	itemsPerMinute = 60
)

// hearing follows the transcripts of the client's sound, which the provider charges separately, at the price of their
// model. An attempt covers a minute of sound with all transcripts of it, and is opened before the sound is sent,
// because turn detection may end a piece of speech at any time.
type hearing struct {
	meter *meter

	mu      sync.Mutex
	target  *route.Target // model of the transcripts that the provider may write; nil for none
	told    *route.Target // that of the provider's last report
	recent  *route.Target // the last one that was not nil
	prompt  int64         // bytes of the settings
	minutes []*minute
	heard   int64              // milliseconds of sound
	until   int64              // milliseconds of sound that the attempts cover
	written int64              // milliseconds of sound up to the last commit
	items   map[string]*minute // committed, without a transcript yet, and the attempt for it
}

// minute is the attempt for the transcripts of a minute of sound.
type minute struct {
	hold   *ledger.Hold
	until  int64
	used   llm.Usage
	unsure bool // a transcript came without its usage
}

// isBusy reports whether a transcript is awaited.
func (h *hearing) isBusy() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.items) > 0
}

// transcription returns the settings of transcripts in a session, and their path.
func transcription(session []byte) (settings []byte, path []string) {
	path = []string{"audio", "input", "transcription"}
	if v := rawjson.Get(session, path...); v != nil {
		return v, path
	}
	return rawjson.Get(session, "input_audio_transcription"), []string{"input_audio_transcription"} // beta
}

// with takes the model of transcripts from the client's settings, and returns these with the provider's name of it.
func (h *hearing) with(session []byte) ([]byte, error) {
	settings, path := transcription(session)
	if rawjson.KindOf(settings) != rawjson.Object { // the provider may refuse to end them
		return session, nil
	}
	name, provider := rawjson.Text(rawjson.Get(settings, "model")), h.meter.target.Provider
	if name == "" {
		return nil, llm.Invalid("session."+strings.Join(path, ".")+".model",
			"The transcription has no model. Send its name as a string.")
	}
	t := &route.Target{
		Provider: provider, Model: strings.TrimPrefix(name, provider.Name()+"/"), Key: h.meter.target.Key,
	}
	if err := mayUse(h.meter.principal(), name, t); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.target != nil && h.target.Model != t.Model && h.heard > 0 {
		return nil, llm.Invalidf("session."+strings.Join(path, ".")+".model", "The session's sound is transcribed by "+
			"%q. Set the transcription to null and wait for session.updated, before you name another model.",
			h.target.Model)
	}
	h.target, h.recent, h.prompt = t, t, max(h.prompt, int64(len(settings)))
	return set(session, quoted(t.Model), append(path, "model")...), nil
}

// tell notes the model of transcripts in a session that the provider reports.
func (h *hearing) tell(session []byte) {
	settings, _ := transcription(session)
	h.mu.Lock()
	defer h.mu.Unlock()
	model := rawjson.Text(rawjson.Get(settings, "model"))
	switch {
	case h.recent != nil && strings.HasPrefix(model, h.recent.Model+"-20"): // the same with its date
		h.told = h.recent
	case model != "":
		h.told = &route.Target{Provider: h.meter.target.Provider, Model: model, Key: h.meter.target.Key}
		h.prompt = max(h.prompt, int64(len(settings)))
	case settings != nil:
		h.told = nil
	}
}

// apply takes the provider's last report as the truth, because no settings are on their way to it.
func (h *hearing) apply() {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := h.target
	if h.target = h.told; h.told != nil {
		h.recent = h.told
	}
	if before == nil || h.told == nil || before.Model != h.told.Model {
		h.until = 0
	}
}

// cover opens an attempt for the transcripts of sound that is about to be sent and that no attempt covers. audio is the
// sound of the session in milliseconds, with the new one.
func (h *hearing) cover(ctx context.Context, audio int64) error {
	h.mu.Lock()
	h.heard = audio
	t, prompt := h.target, h.prompt
	from, full := max(h.until, h.written), len(h.minutes) >= maxTranscripts
	h.mu.Unlock()
	switch {
	case t == nil || audio <= from:
		return nil
	case full:
		return llm.Errorf(llm.CodeRateLimited, "The transcripts of %d minutes of sound are outstanding. Commit or "+
			"clear the sound, and wait for its transcripts.", maxTranscripts)
	}
	m := &minute{until: max(audio, from+minuteMillis)}
	var limited ratelimit.Reservation
	tokens := (m.until - from) * heardPerSecond / 1000
	err := h.meter.limit(ctx, &limited, tokens)
	if err != nil {
		return err
	}
	defer func() { limited.Settle(tokens) }() // responses need the slot, as long as sound comes
	m.hold, _, err = h.meter.open(ctx, h.meter.minute(t, m.until-from+moreMillis, prompt))
	if err == nil {
		err = m.hold.Use()
	}
	if err != nil {
		tokens = 0
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.minutes, h.until = append(h.minutes, m), m.until
	return nil
}

// minute returns the attempt for transcripts of that much sound.
func (m *meter) minute(t *route.Target, millis, prompt int64) *opening {
	price := m.table.Price(t, m.server.now())
	o := &opening{model: t.Model, Turn: quote.Turn{
		Price: price, Terms: m.principal().Terms(t.Provider.Name(), t.Model, m.server.now()),
	}}
	if o.Fixed[llm.Requests] = 1; price.Rates[llm.Milliseconds].Known() {
		o.Fixed[llm.Milliseconds] = millis
		return o
	}
	o.Fixed[llm.Input] = prompt * itemsPerMinute
	o.Fixed[llm.AudioIn] = millis * tokensPerSecond / 1000
	o.Most = millis * writtenPerSecond / 1000
	o.Least = o.Most
	return o
}

// committed notes a piece of speech whose transcript will follow. audio is the sound up to its end, in milliseconds.
func (h *hearing) committed(item string, audio int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.written = audio
	if h.target == nil || item == "" || len(h.minutes) == 0 {
		return
	}
	if h.items == nil {
		h.items = map[string]*minute{}
	}
	h.items[item] = h.minutes[len(h.minutes)-1]
}

// observe adds a transcript's usage to the attempt for it, and settles the attempts whose sound has all its
// transcripts. A transcript that the client did not ask for gets an attempt now; the error is that of budgets without
// room for it.
func (h *hearing) observe(ctx context.Context, frame []byte) (err error) {
	used, reported := transcriptUsage(rawjson.Get(frame, "usage"))
	item := rawjson.Text(rawjson.Get(frame, "item_id"))
	if reported {
		err = h.coverLate(ctx)
	}
	for _, m := range h.add(item, &used.usage, reported) {
		h.settle(m, ledger.OutcomeOK, false)
	}
	return err
}

// coverLate opens an attempt for a transcript that came without one.
func (h *hearing) coverLate(ctx context.Context) error {
	h.mu.Lock()
	t, prompt, covered := h.recent, h.prompt, len(h.minutes) > 0
	h.mu.Unlock()
	if covered || t == nil {
		return nil
	}
	o := h.meter.minute(t, minuteMillis+moreMillis, prompt)
	o.always = true
	hold, _, err := h.meter.open(ctx, o)
	if hold == nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.minutes = append(h.minutes, &minute{hold: hold})
	return err
}

// add adds the usage of an item's transcript, and returns the attempts whose transcripts are complete.
func (h *hearing) add(item string, used *llm.Usage, reported bool) (whole []*minute) {
	h.mu.Lock()
	defer h.mu.Unlock()
	of := h.items[item]
	if of == nil && reported && len(h.minutes) > 0 { // it was not foreseen
		of = h.minutes[len(h.minutes)-1]
	}
	if of == nil {
		return nil
	}
	delete(h.items, item)
	if reported && of.hold.Attempt().Believes(used) {
		of.used.Add(used)
		of.used[llm.Requests]++
	} else {
		of.unsure = true
	}
	for len(h.items) == 0 && len(h.minutes) > 1 && h.minutes[0].until <= h.written {
		whole, h.minutes = append(whole, h.minutes[0]), h.minutes[1:]
	}
	return whole
}

// settle settles an attempt for transcripts; missing reports that transcripts are outstanding.
func (h *hearing) settle(m *minute, outcome ledger.Outcome, missing bool) {
	a := m.hold.Attempt()
	st := ledger.Settlement{Outcome: outcome, Provenance: ledger.Exact, Usage: m.used, Counts: !m.used.IsZero()}
	if m.unsure || missing {
		st.Provenance, st.AtMost, st.Counts = ledger.Estimated, a.Hold, true
		if m.used.IsZero() {
			st.Usage = a.Bound
		}
	}
	h.meter.settle(m.hold, st)
}

// settleAll settles the attempts for transcripts when the session has ended.
func (h *hearing) settleAll(outcome ledger.Outcome) {
	h.mu.Lock()
	minutes, missing := h.minutes, len(h.items) > 0
	h.minutes = nil
	h.mu.Unlock()
	for _, m := range minutes {
		if !missing && !m.unsure {
			h.settle(m, ledger.OutcomeOK, false)
		} else {
			h.settle(m, outcome, missing)
		}
	}
}
