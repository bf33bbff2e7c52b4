package simulator

import (
	"context"
	"encoding/base64"
	"time"

	"weir/internal/llm"
)

// liveReply is one answer.
type liveReply struct {
	t      *liveTalk
	entry  *entry
	used   llm.Usage
	cancel context.CancelFunc
	ctx    context.Context
	after  *liveReply    // the answer before it, which ends first
	ended  chan struct{} // closed at its end
}

// respond begins an answer, which interrupts the one before it.
func (t *liveTalk) respond() {
	r := &liveReply{t: t, used: t.said, after: t.current, ended: make(chan struct{})}
	if r.after != nil {
		r.after.cancel()
	}
	r.entry = t.s.ledger.open(Record{Attempt: t.attempt, Dialect: liveDialect, Key: t.key, Received: t.s.clock()})
	r.entry.ask(t.spec.name, true)
	if t.spec.fault != nil {
		r.entry.meet(t.spec.fault.name)
	}
	r.used[llm.Reasoning] = max(0, t.spec.reasoning)
	r.entry.talked(r.used)
	r.ctx, r.cancel = context.WithCancel(t.ctx)
	t.current = r
	t.work.Go(r.run)
}

// length returns the tokens of an answer in sound.
func (t *liveTalk) length() int64 {
	switch {
	case t.spec.tokens != unset:
		return t.spec.tokens
	case t.spec.sound > 0:
		return int64(t.spec.sound / (liveSpoken * time.Millisecond))
	}
	return 8
}

// run writes the answer piece by piece: one piece is a token of sound.
func (r *liveReply) run() {
	t := r.t
	defer close(r.ended)
	if r.after != nil {
		<-r.after.ended
	}
	if t.spec.fault != nil && t.spec.fault.name == "silence" {
		<-r.ctx.Done()
		r.entry.end(Silent, t.s.clock())
		return
	}
	if !r.wait(t.spec.ttft) {
		r.done(true)
		return
	}
	if t.calls(r) {
		return
	}
	sound := base64.StdEncoding.EncodeToString(make([]byte, liveSpoken*pcmPerMilli))
	for pieces := int64(0); pieces < t.length(); pieces++ {
		if t.most != unset && pieces+r.used[llm.Reasoning] >= t.most {
			break
		}
		if t.spec.fault != nil && pieces == t.spec.at && r.fails() {
			return
		}
		if !r.wait(t.spec.pace) {
			r.done(true)
			return
		}
		t.mu.Lock()
		r.used[llm.AudioOut]++
		r.entry.talked(r.used)
		t.tell(map[string]any{"serverContent": map[string]any{"modelTurn": map[string]any{"parts": []any{
			map[string]any{"inlineData": map[string]any{"mimeType": "audio/pcm;rate=24000", "data": sound}},
		}}}})
		t.mu.Unlock()
	}
	r.done(false)
}

// calls has the base model tools call the function once for each message.
func (t *liveTalk) calls(r *liveReply) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.spec.base != baseTools || t.tool == "" || t.called {
		t.called = false
		return false
	}
	t.called = true
	r.used[llm.Output] += 2
	r.entry.talked(r.used)
	m := map[string]any{"toolCall": map[string]any{"functionCalls": []any{
		map[string]any{"id": "call_1", "name": t.tool, "args": map[string]any{}},
	}}}
	if t.goesOn {
		t.tell(m)
		return false
	}
	r.settle()
	t.tell(t.reported(m, r))
	return true
}

// wait waits between two pieces, and reports whether the answer was not interrupted.
func (r *liveReply) wait(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.ctx.Done():
	case <-r.t.s.closed:
		return false
	}
	return r.ctx.Err() == nil
}

// fails carries out the fault of the session, and reports whether the answer ends with it.
func (r *liveReply) fails() bool {
	t := r.t
	switch t.spec.fault.name {
	case "cut", "cut-reset", "half-close":
		r.entry.end(Cut, t.s.clock())
		t.conn.Abort()
	case "stall":
		<-r.ctx.Done()
		r.entry.end(Silent, t.s.clock())
	case "half-frame":
		r.entry.end(Cut, t.s.clock())
		t.mu.Lock()
		defer t.mu.Unlock()
		t.conn.Break([]byte(`{"serverContent":{"modelTurn":`))
	default:
		return false
	}
	return true
}

// settle records the end of the answer, and adds it to the conversation. The caller holds mu.
func (r *liveReply) settle() {
	t := r.t
	if t.current == r {
		t.current = nil
	}
	t.said[llm.Input] += r.used[llm.Output]
	t.said[llm.AudioIn] += r.used[llm.AudioOut]
	told := &r.used
	if t.silent() {
		told = nil
	}
	r.entry.settle(Served, told, "", true, t.s.clock())
}

// silent reports whether the session reports no usage.
func (t *liveTalk) silent() bool { return t.spec.usage == usageNone || t.spec.usage == usageMissing }

// done ends the answer with its usage.
func (r *liveReply) done(interrupted bool) {
	t := r.t
	t.mu.Lock()
	defer t.mu.Unlock()
	r.settle()
	if interrupted {
		t.tell(map[string]any{"serverContent": map[string]any{"interrupted": true}})
	} else {
		t.tell(map[string]any{"serverContent": map[string]any{"generationComplete": true}})
	}
	t.tell(t.reported(map[string]any{"serverContent": map[string]any{"turnComplete": true}}, r))
}

// reported returns a message with the usage of an answer as the vendor writes it: the total is without the thoughts.
func (t *liveTalk) reported(m map[string]any, r *liveReply) map[string]any {
	if t.silent() {
		return m
	}
	u := &r.used
	of := func(text, sound int64) []any {
		return []any{
			map[string]any{"modality": "TEXT", "tokenCount": text},
			map[string]any{"modality": "AUDIO", "tokenCount": sound},
		}
	}
	written := u[llm.Output] + u[llm.AudioOut]
	usage := map[string]any{
		"promptTokenCount": u.InputTokens(), "responseTokenCount": written,
		"totalTokenCount":       u.InputTokens() + written,
		"promptTokensDetails":   of(u[llm.Input], u[llm.AudioIn]),
		"responseTokensDetails": of(u[llm.Output], u[llm.AudioOut]),
	}
	if n := u[llm.Reasoning]; n > 0 {
		usage["thoughtsTokenCount"] = n
	}
	m["usageMetadata"] = usage
	return m
}
