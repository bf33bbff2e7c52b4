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
	// itemsPerMinute exceeds the pieces of speech in a minute, each with the prompt of the transcripts.
	itemsPerMinute = 60
)

// hearing follows the transcripts of the client's sound, which the provider charges separately, at the price of their
// model. An attempt covers a minute of sound with all transcripts of it, and is opened before the sound is sent,
// because turn detection may end a piece of speech at any time.
type hearing struct {
	meter *meter

	mu      sync.Mutex
	target  *route.Target // model of the transcripts; nil for none
	price   llm.Price
	prompt  int64 // bytes of the settings
	minutes []*minute
	until   int64           // milliseconds of sound that the attempts cover
	written int64           // milliseconds of sound up to the last commit
	items   map[string]bool // committed, without a transcript yet
}

// minute is the attempt for the transcripts of a minute of sound.
type minute struct {
	hold    *ledger.Hold
	limited ratelimit.Reservation
	until   int64
	used    llm.Usage
	unsure  bool // a transcript came without its usage
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
	if settings == nil {
		return session, nil
	}
	if rawjson.KindOf(settings) != rawjson.Object {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.target = nil
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
	h.set(t, settings)
	return set(session, quoted(t.Model), append(path, "model")...), nil
}

// begin takes the model of transcripts from the provider's new session.
func (h *hearing) begin(session []byte) {
	settings, _ := transcription(session)
	if model := rawjson.Text(rawjson.Get(settings, "model")); model != "" {
		h.set(&route.Target{Provider: h.meter.target.Provider, Model: model, Key: h.meter.target.Key}, settings)
	}
}

// set sets the model of transcripts.
func (h *hearing) set(t *route.Target, settings []byte) {
	price := h.meter.table.Price(t, h.meter.server.now())
	h.mu.Lock()
	defer h.mu.Unlock()
	h.target, h.price, h.prompt = t, price, int64(len(settings))
}

// cover opens an attempt for the transcripts of sound that is about to be sent and that no attempt covers. audio is the
// sound of the session in milliseconds, with the new one.
func (h *hearing) cover(ctx context.Context, audio int64) error {
	h.mu.Lock()
	t, price, prompt := h.target, h.price, h.prompt
	from, full := h.until, len(h.minutes) >= maxTranscripts
	h.mu.Unlock()
	switch {
	case t == nil || audio <= from:
		return nil
	case full:
		return llm.Errorf(llm.CodeRateLimited, "The transcripts of %d minutes of sound are outstanding. Commit or "+
			"clear the sound, and wait for its transcripts.", maxTranscripts)
	}
	m := &minute{until: max(audio, from+minuteMillis)}
	err := h.meter.limit(ctx, &m.limited, 1)
	if err != nil {
		return err
	}
	m.hold, _, err = h.meter.open(ctx, h.meter.minute(t, price, m.until-from+moreMillis, prompt))
	if err == nil {
		err = m.hold.Use()
	}
	if err != nil {
		m.limited.Settle(0)
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.minutes, h.until = append(h.minutes, m), m.until
	return nil
}

// minute returns the attempt for transcripts of that much sound.
func (m *meter) minute(t *route.Target, price llm.Price, millis, prompt int64) *opening {
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

// committed notes a piece of speech whose transcript will follow. audio is the sound of the session so far, in
// milliseconds.
func (h *hearing) committed(item string, audio int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.target == nil || item == "" || len(h.minutes) == 0 {
		return
	}
	if h.items == nil {
		h.items = map[string]bool{}
	}
	h.items[item], h.written = true, audio
}

// observe adds a transcript's usage to the newest attempt for transcripts, and settles the attempts whose sound has all
// its transcripts.
func (h *hearing) observe(frame []byte) {
	used, reported := transcriptUsage(rawjson.Get(frame, "usage"))
	item := rawjson.Text(rawjson.Get(frame, "item_id"))
	for _, m := range h.add(item, &used.usage, reported) {
		h.settle(m, ledger.OutcomeOK, false)
	}
}

// add adds the usage of an item's transcript, and returns the attempts whose transcripts are complete.
func (h *hearing) add(item string, used *llm.Usage, reported bool) (whole []*minute) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.items[item] || len(h.minutes) == 0 {
		return nil
	}
	delete(h.items, item)
	last := h.minutes[len(h.minutes)-1]
	if reported && last.hold.Attempt().Believes(used) {
		last.used.Add(used)
		last.used[llm.Requests]++
	} else {
		last.unsure = true
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
	m.limited.Settle(m.used.TotalTokens())
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
