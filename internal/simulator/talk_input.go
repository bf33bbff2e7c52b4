package simulator

import (
	"time"

	"weir/internal/llm"
)

const (
	// millisPerToken is how much sound of a person is a token, and spokenPerToken how much of the model's
	// (https://platform.openai.com/docs/guides/realtime-costs, undated copy).
	millisPerToken, spokenPerToken = 100, 50
	// pcmPerMilli and g711PerMilli are the bytes of a millisecond of sound.
	pcmPerMilli, g711PerMilli = 48, 8
	charsPerToken             = 4
)

// voice is the sound that a session has received and not committed.
type voice struct {
	millis   int64
	speaking bool
	silent   int64 // milliseconds since the last sound that is not zero
	item     string
}

// listen adds sound to the buffer, and detects turns: zero bytes are silence.
func (t *talk) listen(sound []byte) {
	rate := int64(pcmPerMilli)
	format, _ := t.at("", "audio", "input", "format", "type").(string)
	if format == "audio/pcmu" || format == "audio/pcma" {
		rate = g711PerMilli
	}
	detection, _ := t.at("turn_detection", "audio", "input", "turn_detection").(map[string]any)
	if detection["type"] == nil {
		detection = nil
	}
	for piece := int(20 * rate); len(sound) > 0; sound = sound[min(piece, len(sound)):] {
		now := sound[:min(piece, len(sound))]
		millis := (int64(len(now)) + rate - 1) / rate
		t.came += millis
		if t.heard.millis += millis; detection == nil {
			continue
		}
		t.detect(detection, millis, isSilent(now))
	}
}

func isSilent(sound []byte) bool {
	for _, b := range sound {
		if b != 0 {
			return false
		}
	}
	return true
}

// detect follows the speech in the buffer by its next milliseconds.
func (t *talk) detect(detection map[string]any, millis int64, silent bool) {
	v := &t.heard
	switch {
	case !silent && !v.speaking:
		v.speaking, v.silent, v.item = true, 0, t.id("item")
		t.tell("input_audio_buffer.speech_started", map[string]any{"item_id": v.item, "audio_start_ms": t.came})
		if detection["interrupt_response"] == true && t.active != "" {
			t.running[t.active]()
		}
	case !silent:
		v.silent = 0
	case v.speaking:
		if v.silent += millis; v.silent < 500 {
			return
		}
		item := v.item
		t.tell("input_audio_buffer.speech_stopped", map[string]any{"item_id": item, "audio_end_ms": t.came})
		t.commit(item)
		if (detection["create_response"] == true || t.spec.begins.unasked || t.spec.begins.timed) && t.active == "" {
			t.respond(map[string]any{})
		}
	default: // silence before speech is not kept
		v.millis = 0
	}
}

// commit makes the buffer an item of the conversation.
func (t *talk) commit(item string) {
	millis := t.heard.millis
	t.heard = voice{}
	t.said[llm.AudioIn] += (millis + millisPerToken - 1) / millisPerToken
	t.tell("input_audio_buffer.committed", map[string]any{"item_id": item, "previous_item_id": nil})
	t.added(map[string]any{
		"id": item, "object": "realtime.item", "type": "message", "role": "user", "status": "completed",
		"content": []any{map[string]any{"type": "input_audio", "transcript": nil}},
	})
	t.transcribe(item, millis)
}

// added reports a new item.
func (t *talk) added(item map[string]any) {
	kinds := []string{"conversation.item.added", "conversation.item.done"}
	if t.settings["type"] == nil {
		kinds = []string{"conversation.item.created"}
	}
	for _, kind := range kinds {
		t.tell(kind, map[string]any{"item": item, "previous_item_id": nil})
	}
}

// say adds the client's own item.
func (t *talk) say(item map[string]any) {
	if item["id"] == nil {
		item["id"] = t.id("item")
	}
	t.said[llm.Input] += textTokens(item)
	if t.spec.begins.timed {
		t.message(item)
	}
	t.added(item)
}

// textTokens counts the tokens of all texts of a value.
func textTokens(v any) (n int64) {
	switch v := v.(type) {
	case string:
		return (int64(len(v)) + charsPerToken - 1) / charsPerToken
	case []any:
		for _, e := range v {
			n += textTokens(e)
		}
	case map[string]any:
		for name, e := range v {
			if name == "text" || name == "content" || name == "output" || name == "arguments" || name == "transcript" {
				n += textTokens(e)
			}
		}
	}
	return n
}

// transcribe writes the transcript of an item, if the session wants it: at 10 tokens a second, or by the second for
// the models of whisper.
func (t *talk) transcribe(item string, millis int64) {
	settings, _ := t.at("input_audio_transcription", "audio", "input", "transcription").(map[string]any)
	model, _ := settings["model"].(string)
	if model == "" {
		return
	}
	entry := t.s.ledger.open(Record{Attempt: t.attempt, Dialect: talkDialect, Key: t.key, Received: t.s.clock()})
	entry.ask(clip(model), false)
	var used llm.Usage
	report := map[string]any{"type": "duration", "seconds": float64(millis) / 1000}
	if model != "whisper-1" {
		used[llm.AudioIn], used[llm.Output] = (millis+millisPerToken-1)/millisPerToken, 1+millis/1000
		report = map[string]any{
			"type": "tokens", "input_tokens": used[llm.AudioIn], "output_tokens": used[llm.Output],
			"total_tokens":        used[llm.AudioIn] + used[llm.Output],
			"input_token_details": map[string]any{"audio_tokens": used[llm.AudioIn], "text_tokens": 0},
		}
	} else {
		used[llm.Milliseconds] = millis
	}
	entry.talked(used)
	t.work.Go(func() {
		if !t.pause(t.spec.ttft) {
			entry.cancel(t.s.clock())
			return
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		entry.settle(Served, &used, "", true, t.s.clock())
		e := map[string]any{"item_id": item, "content_index": 0, "transcript": "some words", "usage": report}
		if t.spec.usage == usageNone || t.spec.usage == usageMissing {
			delete(e, "usage")
		}
		t.tell("conversation.item.input_audio_transcription.completed", e)
	})
}

// pause waits, and reports whether the session still goes on.
func (t *talk) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return t.ctx.Err() == nil
	case <-t.ctx.Done():
	case <-t.s.closed:
	}
	return false
}
