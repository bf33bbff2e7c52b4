package simulator_test

import (
	"encoding/json"
	"strings"
	"testing"

	"weir/internal/llm"
	"weir/internal/simulator"
)

var (
	question = toyMessage{Role: "user", Text: "What came down the river?"}
	earlier  = []toyMessage{{Role: "user", Text: "Hi"}, {Role: "assistant", Text: "Yes?"}}
)

func begun(text string) toyMessage { return toyMessage{Role: "assistant", Text: text} }

// textOf is what a model says to these messages.
func textOf(t *testing.T, s *simulator.Server, f *toy, model string, stream bool, messages ...toyMessage) (string, simulator.Record) {
	t.Helper()
	got, rec := askToy(t, s, f, model, stream, messages...)
	_, datas, err := f.events(got)
	if err != nil || got.status != 200 {
		t.Fatalf("%s, %s: %d %s, %v", f.name, model, got.status, got.body, err)
	}
	return text(datas, "text"), rec
}

// Given the first bytes of its answer as the assistant's, a model answers with
// the rest, wherever it was broken off.
func TestContinues(t *testing.T) {
	t.Parallel()
	s := newSimulator(t, simulator.Options{Dialects: toyDialects()})
	for _, f := range toys {
		for _, model := range []string{"story:tokens=30", "chat:tokens=30", "story:tokens=30,unicode", "chat:tokens=30,seed=5,think"} {
			whole, rec := textOf(t, s, f, model, false, question)
			if rec.Usage[llm.Output] != 30 {
				t.Fatalf("%s, %s: %+v", f.name, model, rec)
			}
			for cut := range len(whole) + 1 {
				stream := cut%2 == 0
				if cut == 0 || f.name != "lines" && cut%17 != 1 || !json.Valid([]byte(`"`+whole[:cut]+`"`)) || strings.ToValidUTF8(whole[:cut], "") != whole[:cut] {
					continue
				}
				if stream && strings.HasPrefix(model, "chat") && !f.inPath {
					continue // whose body says that it is a stream, and so is another
				}
				rest, rec := textOf(t, s, f, model, stream, question, begun(whole[:cut]))
				if whole[:cut]+rest != whole || rec.Usage[llm.Output]+rec.Usage[llm.Reasoning] != rec.Pieces || rec.Pieces > 30 {
					t.Errorf("%s, %s: %q goes on with %q, %+v; want %q", f.name, model, whole[:cut], rest, rec, whole[cut:])
				}
			}
		}
	}
}

// The tokens of the rest are those of the rest, and its cap is its own.
func TestContinuationIsCounted(t *testing.T) {
	t.Parallel()
	s := newSimulator(t, simulator.Options{Dialects: toyDialects()})
	for _, tt := range []struct {
		model, begun, rest string
		pieces             int64
	}{
		{"story:tokens=13", "Once upon", " a time, in a story that no model wrote.", 11},
		{"story:tokens=13", "Once up", "on a time, in a story that no model wrote.", 12},
		{"story:tokens=13", "Once upon a time, in a story that no model wrote.", "", 0},
		{"story:tokens=13", "Once upon a time, in a story that no model wrote. And", "Once upon a time, in a story that no model wrote.", 13},
		{"story:tokens=13", "It was", "Once upon a time, in a story that no model wrote.", 13},
		{"story:tokens=13,fault=cut,at=2", "Once upon", " a time", 2},
		{"echo", "What", "What came down the river?", 5},
		{"story:tokens=13,n=1", "Once", " upon a time, in a story that no model wrote.", 12},
	} {
		got, rec := askToy(t, s, toys[0], tt.model, true, question, begun(tt.begun))
		_, datas, _ := toys[0].events(got)
		if text(datas, "text") != tt.rest || rec.Pieces != tt.pieces || rec.Usage[llm.Output] != tt.pieces {
			t.Errorf("%s, %q: got %q, %d pieces; want %q, %d", tt.model, tt.begun, text(datas, "text"), rec.Pieces, tt.rest, tt.pieces)
		}
	}
}

// A story depends on its question and the seed alone.
func TestStory(t *testing.T) {
	t.Parallel()
	s, other := newSimulator(t, simulator.Options{Dialects: toyDialects(), Seed: 1}), newSimulator(t, simulator.Options{Dialects: toyDialects(), Seed: 2})
	want, _ := textOf(t, s, toys[0], "story:tokens=60", false, question)
	for _, f := range toys {
		for _, model := range []string{"story:tokens=60", "story:tokens=60,pace=1us,fault=no-end", "story:tokens=60,usage=twice", "story:tokens=60,seed=1", "story:tokens=60,think"} {
			if got, _ := textOf(t, s, f, model, true, append(earlier, question)...); got != want {
				t.Errorf("%s, %s: got %q, want %q", f.name, model, got, want)
			}
		}
	}
	if got, _ := textOf(t, s, toys[0], "story", false, question); !strings.HasPrefix(got, strings.TrimSuffix(want, ".")) {
		t.Errorf("a longer story: %q, want it to begin %q", got, want)
	}
	for name, got := range map[string]string{
		"another seed":     first(textOf(t, other, toys[0], "story:tokens=60", false, question)),
		"the seed option":  first(textOf(t, s, toys[0], "story:tokens=60,seed=2", false, question)),
		"another question": first(textOf(t, s, toys[0], "story:tokens=60", false, earlier[0])),
	} {
		if got == want {
			t.Errorf("%s tells the same story", name)
		}
	}
}

func first(text string, _ simulator.Record) string { return text }

// A variant is the same text up to a piece, and another from it on.
func TestVariant(t *testing.T) {
	t.Parallel()
	s := newSimulator(t, simulator.Options{Dialects: toyDialects()})
	pieces := func(model string) (all []string) {
		got, _ := askToy(t, s, toys[1], model, true, question)
		_, datas, _ := toys[1].events(got)
		for _, data := range datas {
			if p := text([][]byte{data}, "text"); p != "" {
				all = append(all, p)
			}
		}
		return all
	}
	plain := pieces("story:tokens=50")
	for _, from := range []int{0, 7, 20, 49} {
		got := pieces("story:tokens=50,variant=" + string(json.Number(jsonOf(from))))
		for i := range plain {
			if same := got[i] == plain[i]; same != (i < from) {
				t.Errorf("variant=%d: piece %d is %q, plainly %q", from, i, got[i], plain[i])
			}
		}
	}
	whole := strings.Join(plain, "")
	agreed, strayed := strings.Join(plain[:20], ""), strings.Join(plain[:21], "")
	if got, _ := textOf(t, s, toys[1], "story:tokens=50,variant=20", true, question, begun(agreed)); got == whole[len(agreed):] || strings.HasPrefix(got, "Once") {
		t.Errorf("a variant that is to go on from where both agree: got %q", got)
	}
	if got, _ := textOf(t, s, toys[1], "story:tokens=50,variant=20", true, question, begun(strayed)); !strings.HasPrefix(got, "Once") {
		t.Errorf("a variant that is to go on with another's text: got %q, want it afresh", got)
	}
}

func jsonOf(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

// Over OpenAI's format, whole answers and streams, as any client does it.
func TestOpenAIContinues(t *testing.T) {
	t.Parallel()
	const said = `{"role":"user","content":"What came down the river?"}`
	for _, model := range []string{"story:tokens=40", "chat:tokens=40"} {
		ask := func(messages string) map[string]heard { return both(t, model, `"messages": [`+messages+` ]`) }
		whole := ask(said)
		for name, got := range whole {
			all := content(got.chunks(t))
			cut := all[:len(all)/2]
			rest := ask(said + ` , {"role":"assistant","content":` + jsonOf(cut) + `}`)[name]
			if chunks := rest.chunks(t); cut+content(chunks) != all || finish(chunks) != "stop" {
				t.Errorf("%s, %s: %q goes on with %q; want %q", model, name, cut, content(chunks), all[len(cut):])
			}
		}
	}
}

// Thinking is signed, in whole replies and streams alike; who returns it, must
// return it as it was.
func TestSignatures(t *testing.T) {
	t.Parallel()
	s := newSimulator(t, simulator.Options{Dialects: toyDialects()})
	for _, f := range toys {
		for _, model := range []string{"reason:signed", "chat:think,signed,reasoning=5", "reason:signed,tokens=0"} {
			var signatures []string
			for _, stream := range []bool{false, true} {
				got, rec := askToy(t, s, f, model, stream, question)
				_, datas, _ := f.events(got)
				thinking, signature := text(datas, "thinking"), text(datas, "signature")
				if thinking == "" || signature == "" || rec.Pieces != rec.Usage[llm.Output]+rec.Usage[llm.Reasoning] {
					t.Errorf("%s, %s: thinking %q, signature %q, %+v", f.name, model, thinking, signature, rec)
				}
				signatures = append(signatures, signature)
				again := func(thinking, signature string) heard {
					m := toyMessage{Role: "assistant", Text: "x", Thinking: &thinking, Signature: signature}
					h, _ := askToy(t, s, f, model, stream, question, m, question)
					return h
				}
				for name, tt := range map[string]struct {
					got heard
					say string
				}{
					"right":     {again(thinking, signature), ""},
					"alone":     {again("", signature), ""},
					"missing":   {again(thinking, ""), "messages[1] is missing"},
					"wrong":     {again(thinking, "c2lt"), "messages[1] is not the one it went out with"},
					"of others": {again(thinking+".", signature), "messages[1] is not the one it went out with"},
					"cut":       {again("", signature[:8]), "messages[1] is not the one it went out with"},
				} {
					if ok := tt.got.status == 200; ok != (tt.say == "") || !strings.Contains(tt.got.body, tt.say) {
						t.Errorf("%s, %s, signature %s: got %d %s, want %q", f.name, model, name, tt.got.status, tt.got.body, tt.say)
					}
				}
			}
			if f.inPath && signatures[0] != signatures[1] {
				t.Errorf("%s, %s: signatures differ: %q", f.name, model, signatures)
			}
		}
	}
	got, _ := askToy(t, s, toys[0], "reason:reasoning=5,tokens=5", true, question)
	if strings.Count(got.body, "signature") != 1 {
		t.Errorf("got %s, want one signature", got.body)
	}
	four := int64(4)
	_, body := toys[0].ask("reason", true, question)
	cut := way{"memory", "http://demo", s.RoundTripper()}.askAt(t.Context(), "/lines", strings.Replace(body, `"stream"`, `"max_tokens":`+jsonOf(four)+`,"stream"`, 1))
	if strings.Contains(cut.body, "signature") || !strings.Contains(cut.body, "thinking") {
		t.Errorf("thinking that was cut off: %s, want no signature", cut.body)
	}
}
