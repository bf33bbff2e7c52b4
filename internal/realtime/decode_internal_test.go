package realtime

import (
	"strings"
	"testing"

	"weir/internal/llm"
	"weir/internal/worktest"
)

// TestUsageOfResponses checks the classes of reported usage, and which reports leave a class open.
func TestUsageOfResponses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, usage string
		want        llm.Usage
		most        llm.Usage // zero if it equals want
		ok          bool
	}{
		{
			name: "text and sound, both cached in part", ok: true,
			usage: `{"input_tokens":100,"output_tokens":50,"input_token_details":{"text_tokens":40,"audio_tokens":60,` +
				`"image_tokens":0,"cached_tokens":30,"cached_tokens_details":{"text_tokens":10,"audio_tokens":20}},` +
				`"output_token_details":{"text_tokens":20,"audio_tokens":30}}`,
			want: llm.Usage{
				llm.Input: 30, llm.CacheRead: 10, llm.AudioIn: 40, llm.CacheReadAudio: 20, llm.Output: 20, llm.AudioOut: 30,
			},
		},
		{
			name: "cached images may cost as much as others", ok: true,
			usage: `{"input_tokens":90,"output_tokens":0,"input_token_details":{"text_tokens":10,"audio_tokens":0,` +
				`"image_tokens":80,"cached_tokens":50,"cached_tokens_details":{"image_tokens":50}}}`,
			want: llm.Usage{llm.Input: 10, llm.ImageIn: 30, llm.CacheRead: 50},
			most: llm.Usage{llm.Input: 10, llm.ImageIn: 80},
		},
		{
			name: "sums without classes may be sound", usage: `{"input_tokens":7,"output_tokens":5}`, ok: true,
			want: llm.Usage{llm.Input: 7, llm.Output: 5}, most: llm.Usage{llm.AudioIn: 7, llm.AudioOut: 5},
		},
		{
			name: "cached text without details", ok: true,
			usage: `{"input_tokens":9,"output_tokens":1,"input_token_details":{"text_tokens":9,"cached_tokens":4},` +
				`"output_token_details":{"text_tokens":1}}`,
			want: llm.Usage{llm.Input: 5, llm.CacheRead: 4, llm.Output: 1},
		},
		{name: "no usage", usage: `null`},
		{name: "a negative count", usage: `{"input_tokens":-1,"output_tokens":5}`},
		{name: "a huge count", usage: `{"input_tokens":1e18,"output_tokens":5}`},
	} {
		if c.most.IsZero() {
			c.most = c.want
		}
		got, ok := responseUsage([]byte(c.usage))
		if ok != c.ok || ok && (got.usage != c.want || got.most != c.most) {
			t.Errorf("%s: %v at most %v, %v; want %v at most %v, %v", c.name, got.usage, got.most, ok, c.want, c.most, c.ok)
		}
	}
}

// TestUsageOfTranscripts checks both forms of a transcript's usage.
func TestUsageOfTranscripts(t *testing.T) {
	t.Parallel()
	for usage, want := range map[string]llm.Usage{
		`{"type":"duration","seconds":1.2345}`: {llm.Milliseconds: 1235},
		`{"type":"tokens","input_tokens":14,"output_tokens":3,"input_token_details":{"text_tokens":4,"audio_tokens":10}}`: {
			llm.Input: 4, llm.AudioIn: 10, llm.Output: 3,
		},
		`{"type":"tokens","input_tokens":14,"output_tokens":3}`: {llm.AudioIn: 14, llm.Output: 3},
	} {
		if got, ok := transcriptUsage([]byte(usage)); !ok || got.usage != want {
			t.Errorf("%s: %v, %v, want %v", usage, got.usage, ok, want)
		}
	}
	if got, ok := transcriptUsage([]byte(`{"type":"duration","seconds":-1}`)); ok {
		t.Errorf("a negative duration is %v", got.usage)
	}
}

// TestAmbiguousEventsAreRefused checks events that two parsers may read differently; the control is not refused.
func TestAmbiguousEventsAreRefused(t *testing.T) {
	t.Parallel()
	for event, refused := range map[string]bool{
		`{"type":"response.create","event_id":"a","response":{"max_output_tokens":5}}`: false,
		`{"type":"input_audio_buffer.append","type":"response.create"}`:                true,
		`{"Type":"response.create","type":"input_audio_buffer.clear"}`:                 true,
		`{"type":"response.create","response":{"Max_output_tokens":5}}`:                true,
		`{"type":"response.create","response":{"a":1,"a":2}}`:                          true,
		`{"type":"response.create","x":[{"a":1},{"a":1}]}`:                             false,
		`{"type":"response.create","x":[{"a":1,"a":2}]}`:                               true,
		`{"type":"response.create","x":1,"\u0078":2}`:                                  true,
		`{"type":"response.create"} {}`:                                                true,
		`{"typ\u0065":"response.create"}`:                                              false,
		`{"event_id":"a"}`:                                                             true,
		`{"type":"transcription_session.update","session":{}}`:                         true,
		`{"type":"session.update","session":{"Turn_detection":{}}}`:                    true,
		`{"type":"session.update","session":{"audio":{"input":{"Transcription":1}}}}`:  true,
		`{"type":"session.update","session":{"audio":{"input":{"transcription":1}}}}`:  false,
		`[]`:       true,
		`{"type":`: true,
		`{"type":"x","a":` + strings.Repeat(`[`, 100) + strings.Repeat(`]`, 100) + `}`: true,
	} {
		if _, err := parseEvent([]byte(event)); (err != nil) != refused {
			t.Errorf("%.80s: %v, want refused: %v", event, err, refused)
		}
	}
}

// TestEventIsReadInOnePass checks the members that are kept of an event.
func TestEventIsReadInOnePass(t *testing.T) {
	t.Parallel()
	e, err := parseEvent([]byte(` {"audio":"c291bmQ=","event_id":"a\u0062","x":{"audio":1},"type":"` + eventAppend + `"}`))
	if err != nil || e.kind != eventAppend || e.id != "ab" || string(e.audio) != `"c291bmQ="` {
		t.Errorf("type %q, id %q, sound %s, %v", e.kind, e.id, e.audio, err)
	}
}

// TestTurnDetectionIsManualAtProvider checks the settings for the provider in both forms, and the client's wish.
func TestTurnDetectionIsManualAtProvider(t *testing.T) {
	t.Parallel()
	for session, want := range map[string]struct {
		settings string
		creates  bool
	}{
		`{"audio":{"input":{"turn_detection":{"type":"server_vad"}}}}`: {
			`{"create_response":false,"type":"server_vad"}`, true,
		},
		`{"turn_detection":{"type":"semantic_vad","create_response":false}}`: {
			`{"type":"semantic_vad","create_response":false}`, false,
		},
		`{"turn_detection":{"type":"server_vad","idle_timeout_ms":6000}}`: {
			`{"create_response":false,"type":"server_vad","idle_timeout_ms":null}`, true,
		},
	} {
		settings, _ := detection([]byte(session))
		var turns turns
		turns.take(settings)
		if got := string(manual(settings)); got != want.settings || turns.creates != want.creates {
			t.Errorf("%s: %s, wishes %v; want %s, %v", session, got, turns.creates, want.settings, want.creates)
		}
	}
	var none turns
	if none.take([]byte("null")); none.creates {
		t.Error("a session without turn detection wants responses")
	}
}

// TestInputIsBoundedBySoundAndText checks the bound of a conversation: never below 10 tokens a second of sound and a
// token for four bytes of text, and the context window for content of unknown size.
func TestInputIsBoundedBySoundAndText(t *testing.T) {
	t.Parallel()
	i := newInput(32_000)
	i.format([]byte(`{"audio":{"input":{"format":{"type":"audio/pcm"}}}}`))
	i.sound(make([]byte, 64_000*10)) // ten seconds
	i.text(make([]byte, 400))
	if got := i.bound(); got < 100+100 || got > 200+400+aroundTurn+1 {
		t.Errorf("ten seconds and 400 bytes are bounded by %d tokens", got)
	}
	i.read(500, i.added)
	if got := i.bound(); got != 500+aroundTurn {
		t.Errorf("after a response of 500 tokens the bound is %d, want %d", got, 500+aroundTurn)
	}
	if i.settings([]byte(`{"truncation":{"type":"retention_ratio"}}`)); i.bound() != 32_000 {
		t.Errorf("a conversation that is cut is bounded by %d tokens, want the context window", i.bound())
	}
	i.hidden = false
	for _, hidden := range []string{
		`{"type":"input_image"}`, `{"type":"input_\u0069mage"}`, `{"prompt":{}}`,
		`{"type":"item_reference"}`,
	} {
		unknown := i
		if unknown.text([]byte(hidden)); unknown.bound() != 32_000 {
			t.Errorf("%s is bounded by %d tokens, want the context window", hidden, unknown.bound())
		}
	}
}

// TestSettingsInBothFormsAreRefused checks settings of which a provider may take either.
func TestSettingsInBothFormsAreRefused(t *testing.T) {
	t.Parallel()
	for session, refused := range map[string]bool{
		`{"turn_detection":null,"audio":{"input":{"turn_detection":{}}}}`:           true,
		`{"input_audio_transcription":{},"audio":{"input":{"transcription":null}}}`: true,
		`{"input_audio_transcription":{},"audio":{"input":{"turn_detection":{}}}}`:  false,
	} {
		if err := oneForm([]byte(session)); (err != nil) != refused {
			t.Errorf("%s: %v, want refused: %v", session, err, refused)
		}
	}
}

// FuzzEvents checks the work of reading events of both sides.
func FuzzEvents(f *testing.F) {
	f.Add([]byte(`{"type":"response.create","response":{"max_output_tokens":5,"conversation":"none"}}`))
	f.Add([]byte(`{"type":"session.update","session":{"audio":{"input":{"turn_detection":{"type":"server_vad"}}}}}`))
	f.Add([]byte(`{"type":"response.done","response":{"id":"a","usage":{"input_tokens":1,"output_tokens":2}}}`))
	f.Fuzz(func(t *testing.T, frame []byte) {
		worktest.Check(t, frame, func(frame []byte) {
			_, _ = parseEvent(frame)
			_, _ = responseUsage(frame)
			_, _ = transcriptUsage(frame)
			var turns turns
			settings, path := detection(frame)
			turns.take(settings)
			i := newInput(0)
			i.text(frame)
			i.format(frame)
			if e, err := parseEvent(frame); err == nil {
				_ = turns.shown(e.frame)
				_ = set(e.frame, manual(settings), path...)
			}
		})
	})
}

// TestSettingsOfSecretsAreSpelledAsThoseOfEvents checks that a client secret has no settings which an event may not have:
// the session's first update sends them.
func TestSettingsOfSecretsAreSpelledAsThoseOfEvents(t *testing.T) {
	t.Parallel()
	for session, want := range map[string]bool{
		`{"Tools":[{"type":"web_search"}]}`:                                false,
		`{"Turn_detection":{"type":"server_vad"}}`:                         false,
		`{"audio":{"input":{"turn_detection":{"Create_response":true}}}}`:  false,
		`{"audio":{"Input":{}}}`:                                           false,
		`{"type":"realtime","audio":{"input":{"turn_detection":null}}}`:    true,
		`{"type":"realtime","instructions":"Speak.","tools":[],"voice":1}`: true,
	} {
		_, _, err := new(newcomer).readSecret(new(meter), []byte(`{"session":`+session+`}`))
		if (err == nil) != want {
			t.Errorf("%s: got %v, want it accepted: %t", session, err, want)
		}
		if _, err := parseEvent([]byte(`{"type":"session.update","session":` + session + `}`)); (err == nil) != want {
			t.Errorf("%s in an event: got %v, want it accepted: %t", session, err, want)
		}
	}
}
