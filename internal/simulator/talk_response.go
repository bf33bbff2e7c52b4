package simulator

import (
	"context"
	"encoding/base64"
	"strings"
	"time"

	"weir/internal/llm"
)

// talkDialect is the wire format of the ledger's records of Realtime sessions.
const talkDialect = "realtime"

// reply is one response of a session.
type reply struct {
	t       *talk
	id      string
	item    string
	entry   *entry
	used    llm.Usage
	apart   bool // not part of the conversation
	spoken  bool // sound, not text
	pieces  int64
	most    int64  // output tokens; unset for no cap
	tool    string // function to call; empty for none
	context context.Context
}

// respond begins a response.
func (t *talk) respond(e map[string]any) {
	wanted, _ := e["response"].(map[string]any)
	r := &reply{t: t, apart: wanted["conversation"] == "none", most: t.capOf(wanted), spoken: t.speaks(wanted)}
	if !r.apart && t.active != "" {
		t.refuse(e, "conversation_already_has_active_response", "Conversation already has an active response.")
		return
	}
	r.id, r.item = t.id("resp"), t.id("item")
	r.entry = t.s.ledger.open(Record{Attempt: t.attempt, Dialect: talkDialect, Key: t.key, Received: t.s.clock()})
	r.entry.ask(t.spec.name, true)
	if t.fault != nil {
		r.entry.meet(t.fault.name)
	}
	r.tool = t.toolOf()
	r.used = t.reads(wanted)
	if cached := min(t.spec.cached, r.used[llm.Input]); cached > 0 {
		r.used[llm.Input], r.used[llm.CacheRead] = r.used[llm.Input]-cached, cached
	}
	r.entry.talked(r.used)
	var cancel context.CancelFunc
	r.context, cancel = context.WithCancel(t.ctx)
	if t.running[r.id] = cancel; !r.apart {
		t.active = r.id
	}
	if !t.spec.begins.unseen {
		t.tell("response.created", map[string]any{"response": r.object("in_progress", "")})
	}
	t.work.Go(r.run)
}

// reads returns what a response reads: the conversation, or the input of its own, after the instructions.
func (t *talk) reads(wanted map[string]any) (used llm.Usage) {
	instructions := wanted["instructions"]
	if instructions == nil {
		instructions = t.settings["instructions"]
	}
	if input, own := wanted["input"].([]any); own {
		used[llm.Input] = textTokens(input)
	} else {
		used = t.said
	}
	used[llm.Input] += textTokens(map[string]any{"text": instructions})
	return used
}

// capOf returns the output cap of a response; unset for none.
func (t *talk) capOf(wanted map[string]any) int64 {
	for _, of := range []map[string]any{wanted, t.settings} {
		for _, name := range []string{"max_output_tokens", "max_response_output_tokens"} {
			if n, ok := of[name].(float64); ok {
				return int64(n)
			}
		}
	}
	return unset
}

// speaks reports whether the response is sound.
func (t *talk) speaks(wanted map[string]any) bool {
	for _, of := range []map[string]any{wanted, t.settings} {
		for _, name := range []string{"output_modalities", "modalities"} {
			if list, ok := of[name].([]any); ok {
				for _, m := range list {
					if m == "audio" {
						return true
					}
				}
				return false
			}
		}
	}
	return true
}

// toolOf returns the function that the base model tools calls: the session's first, once for each item of the
// conversation.
func (t *talk) toolOf() string {
	tools, _ := t.settings["tools"].([]any)
	if t.spec.base != baseTools || len(tools) == 0 || t.called {
		t.called = false
		return ""
	}
	tool, _ := tools[0].(map[string]any)
	name, _ := tool["name"].(string)
	t.called = true
	return name
}

// cancel ends a response, the conversation's if the event names none.
func (t *talk) cancel(e map[string]any) {
	id, _ := e["response_id"].(string)
	if id == "" {
		id = t.active
	}
	if end := t.running[id]; end != nil {
		end()
		return
	}
	t.refuse(e, "response_cancel_not_active", "Cancellation failed: no active response found.")
}

// object returns the response as the vendor writes it.
func (r *reply) object(status, reason string) map[string]any {
	conversation := any("conv_1")
	if r.apart {
		conversation = nil
	}
	o := map[string]any{
		"object": "realtime.response", "id": r.id, "status": status, "status_details": nil, "output": []any{},
		"conversation_id": conversation, "usage": nil, "metadata": nil,
	}
	if reason != "" {
		o["status_details"] = map[string]any{"type": status, "reason": reason}
	}
	return o
}

// run writes the response piece by piece: one piece is a token, of text or of sound.
func (r *reply) run() {
	t := r.t
	if t.fault != nil && t.fault.name == "silence" || !t.pause(t.spec.ttft) {
		r.end(Silent)
		return
	}
	t.mu.Lock()
	base := map[string]any{"response_id": r.id, "output_index": 0, "item_id": r.item, "content_index": 0}
	t.tell("response.output_item.added", with(base, "item", r.itemObject("in_progress")))
	if r.tool == "" {
		t.tell("response.content_part.added", with(base, "part", map[string]any{"type": r.kind()}))
	}
	t.mu.Unlock()
	length := t.length(r)
	for r.pieces = 0; r.pieces < length; r.pieces++ {
		if r.most != unset && r.pieces >= r.most {
			r.done("incomplete", "max_output_tokens")
			return
		}
		if t.fault != nil && r.pieces == t.spec.at && r.fails() {
			return
		}
		if !r.wait(t.spec.pace) {
			r.done("cancelled", "turn_detected")
			return
		}
		r.piece(base)
	}
	r.done("completed", "")
}

// length returns the tokens of a response: those of the option sound, or of the option tokens.
func (t *talk) length(r *reply) int64 {
	switch {
	case r.tool != "":
		return 2
	case t.spec.tokens != unset:
		return t.spec.tokens
	case r.spoken && t.spec.sound > 0:
		return int64(t.spec.sound / (spokenPerToken * time.Millisecond))
	}
	return 8
}

// wait waits between two pieces, and reports whether the response was not cancelled.
func (r *reply) wait(d time.Duration) bool {
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.context.Done():
		}
	}
	return r.context.Err() == nil
}

// piece sends one token.
func (r *reply) piece(base map[string]any) {
	t := r.t
	t.mu.Lock()
	defer t.mu.Unlock()
	beta := t.settings["type"] == nil
	switch {
	case r.tool != "":
		r.used[llm.Output]++
		t.tell("response.function_call_arguments.delta", with(base, "delta", []string{"{", "}"}[r.pieces%2]))
	case r.spoken:
		r.used[llm.AudioOut]++
		sound := base64.StdEncoding.EncodeToString(make([]byte, spokenPerToken*pcmPerMilli))
		t.tell(named(beta, "response.output_audio.delta"), with(base, "delta", sound))
	default:
		r.used[llm.Output]++
		t.tell(named(beta, "response.output_text.delta"), with(base, "delta", "word "))
	}
	r.entry.talked(r.used)
}

// named returns the name of an event, which is shorter in the beta.
func named(beta bool, kind string) string {
	if beta {
		return strings.Replace(kind, "output_", "", 1)
	}
	return kind
}

// with returns a copy of an event with one more member.
func with(e map[string]any, name string, value any) map[string]any {
	out := map[string]any{name: value}
	for k, v := range e {
		out[k] = v
	}
	return out
}

// kind returns the type of the content.
func (r *reply) kind() string {
	if r.spoken {
		return "audio"
	}
	return "text"
}

// itemObject returns the item of the response.
func (r *reply) itemObject(status string) map[string]any {
	if r.tool != "" {
		return map[string]any{
			"id": r.item, "object": "realtime.item", "type": "function_call", "status": status, "name": r.tool,
			"call_id": "call_" + r.item, "arguments": "{}",
		}
	}
	content := map[string]any{"type": "output_text", "text": strings.Repeat("word ", int(r.pieces))}
	if r.spoken {
		content = map[string]any{"type": "output_audio", "transcript": "some words"}
	}
	return map[string]any{
		"id": r.item, "object": "realtime.item", "type": "message", "role": "assistant", "status": status,
		"content": []any{content},
	}
}

// fails carries out the fault of the session, and reports whether the response ends with it.
func (r *reply) fails() bool {
	t := r.t
	switch t.fault.name {
	case "cut", "cut-reset", "half-close":
		r.end(Cut)
		t.conn.Abort()
	case "stall":
		<-r.context.Done()
		r.end(Silent)
	case "half-frame":
		r.end(Cut)
		t.mu.Lock()
		defer t.mu.Unlock()
		t.conn.Break([]byte(`{"type":"response.output_audio.delta","delta":"AAAA`))
	default:
		return false
	}
	return true
}

// end records a response that broke off.
func (r *reply) end(o Outcome) {
	r.t.mu.Lock()
	defer r.t.mu.Unlock()
	delete(r.t.running, r.id)
	r.entry.end(o, r.t.s.clock())
}

// done ends the response with its usage.
func (r *reply) done(status, reason string) {
	t := r.t
	t.mu.Lock()
	defer t.mu.Unlock()
	if !r.apart {
		t.said[llm.Input] += r.used[llm.Output]
		t.said[llm.AudioIn] += r.used[llm.AudioOut]
		t.active = ""
	}
	delete(t.running, r.id)
	t.endParts(r)
	o := r.object(status, reason)
	o["output"] = []any{r.itemObject("completed")}
	told := &r.used
	if t.spec.usage == usageNone || t.spec.usage == usageMissing {
		told = nil
	} else {
		o["usage"] = r.report()
	}
	r.entry.settle(Served, told, "", true, t.s.clock())
	t.tell("response.done", map[string]any{"response": o})
}

// endParts sends the events before the end of a response.
func (t *talk) endParts(r *reply) {
	base := map[string]any{"response_id": r.id, "output_index": 0, "item_id": r.item, "content_index": 0}
	beta := t.settings["type"] == nil
	switch {
	case r.tool != "":
		t.tell("response.function_call_arguments.done", with(with(with(base, "arguments", "{}"), "name", r.tool),
			"call_id", "call_"+r.item))
	case r.spoken:
		t.tell(named(beta, "response.output_audio_transcript.done"), with(base, "transcript", "some words"))
		t.tell(named(beta, "response.output_audio.done"), base)
	default:
		t.tell(named(beta, "response.output_text.done"), with(base, "text", strings.Repeat("word ", int(r.pieces))))
	}
	if r.tool == "" {
		t.tell("response.content_part.done", with(base, "part", map[string]any{"type": r.kind()}))
	}
	t.tell("response.output_item.done", with(base, "item", r.itemObject("completed")))
	if !r.apart {
		t.added(r.itemObject("completed"))
	}
}

// report returns the usage as the vendor writes it.
func (r *reply) report() map[string]any {
	u := &r.used
	return map[string]any{
		"total_tokens": u.TotalTokens(), "input_tokens": u.InputTokens(), "output_tokens": u.OutputTokens(),
		"input_token_details": map[string]any{
			"text_tokens": u[llm.Input] + u[llm.CacheRead], "audio_tokens": u[llm.AudioIn], "image_tokens": 0,
			"cached_tokens":         u[llm.CacheRead],
			"cached_tokens_details": map[string]any{"text_tokens": u[llm.CacheRead], "audio_tokens": 0},
		},
		"output_token_details": map[string]any{"text_tokens": u[llm.Output], "audio_tokens": u[llm.AudioOut]},
	}
}
