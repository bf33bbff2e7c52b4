package gemini_test

import (
	"reflect"
	"testing"

	"weir/internal/dialect"
	"weir/internal/dialect/gemini"
	"weir/internal/llm"
	"weir/internal/rawjson"
	"weir/internal/worktest"
)

// TestLiveMessagesAreRead checks the properties of a client's messages that decide their cost, in both spellings.
func TestLiveMessagesAreRead(t *testing.T) {
	t.Parallel()
	read := gemini.Dialect().Live.Read
	for text, want := range map[string]dialect.LiveMessage{
		`{"clientContent":{"turns":[{"parts":[{"text":"a"}]}],"turnComplete":true}}`: {Asks: true},
		`{"client_content":{"turn_complete":true}}`:                                  {Asks: true},
		`{"clientContent":{"turnComplete":false}}`:                                   {},
		`{"clientContent":{"turns":[{"parts":[{"inline_data":{}}]}]}}`:               {Unbounded: true},
		`{"toolResponse":{"functionResponses":[]}}`:                                  {Asks: true},
		`{"realtimeInput":{"text":"a"}}`:                                             {Asks: true, Words: 3},
		`{"realtime_input":{"activity_end":{}}}`:                                     {Asks: true},
		`{"realtimeInput":{"activityStart":{}}}`:                                     {},
		`{"realtimeInput":{"audio":{"mimeType":"audio/pcm","data":"AAAAAAAA"}}}`:     {Listens: true, Millis: 1},
		`{"realtimeInput":{"media_chunks":[{"mime_type":"audio/pcm;rate=1000","data":"AAAAAAAA"}]}}`: {
			Listens: true, Millis: 4,
		},
		`{"realtimeInput":{"audio":{"mimeType":"audio/opus","data":"AAAA"}}}`: {Listens: true, Millis: 1, Unbounded: true},
		`{"realtimeInput":{"audio":{"mimeType":"audio/pcm","mime_type":"audio/pcm;rate=192000","data":"AAAA"}}}`: {
			Listens: true, Millis: 1, Unbounded: true,
		},
		`{"realtimeInput":{"audio":{"mimeType":"audio/pcm;rate=192000;rate=16000","data":"AAAA"}}}`: {
			Listens: true, Millis: 1, Unbounded: true,
		},
		`{"realtimeInput":{"media_chunks":{"mime_type":"audio/pcm","data":"AAAAAAAA"}}}`: {Listens: true, Millis: 1},
		`{"realtimeInput":{"audio":{"mimeType":"audio/pcm","data":"AAAAAAAA"},"text":"four"}}`: {
			Asks: true, Listens: true, Millis: 1, Words: 6,
		},
		`{"clientContent":{"turnComplete":"true"}}`:                           {Asks: true},
		`{"realtimeInput":{"video":{"mimeType":"image/jpeg","data":"AAAA"}}}`: {Listens: true, Unbounded: true},
	} {
		got, err := read([]byte(text))
		if got.Body == nil || err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if got.Body = nil; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v, want %+v", text, got, err, want)
		}
	}
}

// TestLiveToolsOfProviderAreRefused checks that no spelling of a setup lets a tool run whose cost has no bound: Google reads
// an object as an array of one.
func TestLiveToolsOfProviderAreRefused(t *testing.T) {
	t.Parallel()
	for _, more := range []string{
		`"tools":[{"googleSearch":{}}]`, `"tools":{"google_search":{}}`, `"tools":[[{"googleSearch":{}}]]`, `"tools":"x"`,
		`"generationConfig":{"candidateCount":"8"}`,
	} {
		m, err := gemini.Dialect().Live.Read([]byte(`{"setup":{"model":"m",` + more + `}}`))
		if llm.AsError(err).Code != llm.CodeInvalidRequest {
			t.Errorf("%s: %+v, %v, want a refusal", more, m.Setup, err)
		}
	}
	for _, more := range []string{`"tools":null`, `"tools":[]`, `"tools":{"functionDeclarations":[]}`} {
		if _, err := gemini.Dialect().Live.Read([]byte(`{"setup":{"model":"m",` + more + `}}`)); err != nil {
			t.Errorf("%s: %v", more, err)
		}
	}
}

// TestLiveSetupGetsModelAndCap checks setups of SDKs as the provider gets them.
func TestLiveSetupGetsModelAndCap(t *testing.T) {
	t.Parallel()
	live := gemini.Dialect().Live
	for text, want := range map[string]struct {
		setup dialect.LiveSetup
		sent  string
	}{
		`{"setup":{"model":"models/fast"}}`: {
			dialect.LiveSetup{Model: "fast", Detects: true},
			`{"setup":{"generationConfig":{"maxOutputTokens":7},"model":"models/m"}}`,
		},
		`{"setup":{"model":"a/b","generation_config":{"max_output_tokens":50},"session_resumption":{"handle":"h"},` +
			`"realtime_input_config":{"automatic_activity_detection":{"disabled":true}}}}`: {
			dialect.LiveSetup{Model: "a/b", Cap: 50, Resumes: true},
			`{"setup":{"model":"models/m","generationConfig":{"maxOutputTokens":7},"sessionResumption":{"handle":"h"},` +
				`"realtimeInputConfig":{"automatic_activity_detection":{"disabled":true}}}}`,
		},
	} {
		m, err := live.Read([]byte(text))
		if err != nil || m.Setup == nil || *m.Setup != want.setup {
			t.Errorf("%s: %+v, %v, want %+v", text, m.Setup, err, want.setup)
			continue
		}
		if got := string(live.Setup(&m, "m", 7)); got != want.sent {
			t.Errorf("%s: the provider gets %s, want %s", text, got, want.sent)
		}
	}
}

// TestFunctionsBesideAnswersAreFound checks that no spelling hides that an answer goes on beside a function: Google reads
// the number of a word, too.
func TestFunctionsBesideAnswersAreFound(t *testing.T) {
	t.Parallel()
	for behavior, want := range map[string]bool{
		`"NON_BLOCKING"`: true, `"NON\u005fBLOCKING"`: true, `2`: true, `"2"`: true, `"non_blocking"`: true, `2.0`: true,
		`"BLOCKING"`: false, `1`: false, `"UNSPECIFIED"`: false, `0`: false, `null`: false,
	} {
		for _, tools := range []string{
			`[{"functionDeclarations":[{"name":"a"},{"name":"b","behavior":` + behavior + `}]}]`,
			`{"function_declarations":{"name":"NON_BLOCKING","beh\u0061vior":` + behavior + `}}`,
		} {
			m, err := gemini.Dialect().Live.Read([]byte(`{"setup":{"model":"m","tools":` + tools + `}}`))
			if err != nil || m.Setup.Parallel != want {
				t.Errorf("%s: %+v, %v, want %t", tools, m.Setup, err, want)
			}
		}
	}
}

// TestLiveUsageIsReadByClass checks reports of usage: thoughts are in addition to the total, and tokens without a modality
// may be sound.
func TestLiveUsageIsReadByClass(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct{ used, most llm.Usage }{
		`{"promptTokenCount":522,"responseTokenCount":42,"totalTokenCount":564,"promptTokensDetails":[` +
			`{"modality":"TEXT","tokenCount":332},{"modality":"AUDIO","tokenCount":165}],"responseTokensDetails":[` +
			`{"modality":"AUDIO","tokenCount":42}],"thoughtsTokenCount":136}`: {
			llm.Usage{llm.Input: 357, llm.AudioIn: 165, llm.AudioOut: 42, llm.Reasoning: 136},
			llm.Usage{llm.Input: 332, llm.AudioIn: 190, llm.AudioOut: 42, llm.Reasoning: 136},
		},
		`{"promptTokenCount":10,"totalTokenCount":10,"promptTokensDetails":[{"modality":"VIDEO","tokenCount":4},` +
			`{"modality":"TEXT","tokenCount":6}]}`: {
			llm.Usage{llm.Input: 6, llm.ImageIn: 4}, llm.Usage{llm.Input: 6, llm.ImageIn: 4},
		},
	} {
		used, most, ok := gemini.Dialect().Live.Usage([]byte(text))
		if !ok || used != want.used || most != want.most {
			t.Errorf("%s: %v, at most %v, want %v, at most %v", text, used, most, want.used, want.most)
		}
	}
	if _, _, ok := gemini.Dialect().Live.Usage([]byte(`{"promptTokenCount":-1}`)); ok {
		t.Error("a negative count is valid")
	}
}

func FuzzLive(f *testing.F) {
	f.Add([]byte(`{"setup":{"model":"m","generationConfig":{"maxOutputTokens":5},"tools":[{"functionDeclarations":[]}]}}`))
	f.Add([]byte(`{"realtime_input":{"media_chunks":[{"mime_type":"audio/pcm;rate=8000","data":"AAAA"}]}}`))
	f.Add([]byte(`{"serverContent":{"modelTurn":{"parts":[{"text":"a"}]},"turnComplete":true},"usageMetadata":{"promptTokenCount":1}}`))
	live := gemini.Dialect().Live
	f.Fuzz(func(t *testing.T, frame []byte) {
		worktest.Check(t, frame, func(frame []byte) {
			e := live.Event(frame)
			_, _, _ = live.Usage(e.Usage)
			m, err := live.Read(frame)
			if err != nil || m.Setup == nil {
				return
			}
			sent := live.Setup(&m, "m", 9)
			again, err := live.Read(sent)
			if err != nil || again.Setup.Cap != 9 || rawjson.Validate(sent, 101) != nil {
				t.Errorf("%s becomes %s: %+v, %v", frame, sent, again.Setup, err)
			}
		})
	})
}
