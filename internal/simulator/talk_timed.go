package simulator

import "weir/internal/llm"

// timedSettings returns the settings of a new session in the form of xAI's, which has no create_response: with turn
// detection, each turn is answered (https://docs.x.ai/voice-realtime.ws.json, read on 2026-09-30).
func timedSettings(model string) map[string]any {
	format := map[string]any{"type": "audio/pcm", "rate": 24000}
	return map[string]any{
		"model": model, "instructions": "Answer.", "voice": "eve", "turn_detection": map[string]any{"type": nil},
		"tools": []any{},
		"audio": map[string]any{
			"input": map[string]any{"format": format}, "output": map[string]any{"format": format},
		},
	}
}

// time opens the record of the session's duration. The returned function ends it.
func (t *talk) time() (end func()) {
	began := t.s.clock()
	entry := t.s.ledger.open(Record{Attempt: t.attempt, Dialect: talkDialect, Key: t.key, Received: began})
	entry.ask(t.spec.name, true)
	return func() {
		now := t.s.clock()
		used := llm.Usage{llm.Milliseconds: now.Sub(began).Milliseconds()}
		entry.talked(used)
		entry.settle(Served, &used, "", true, now)
	}
}

// message records a text that the client added to the conversation, which is charged.
func (t *talk) message(item map[string]any) {
	if item["type"] == "function_call_output" {
		return
	}
	now := t.s.clock()
	entry := t.s.ledger.open(Record{Attempt: t.attempt, Dialect: talkDialect, Key: t.key, Received: now})
	entry.ask(t.spec.name, false)
	used := llm.Usage{llm.Requests: 1}
	entry.talked(used)
	entry.settle(Served, &used, "", true, now)
}
