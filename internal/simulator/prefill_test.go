package simulator_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"weir/internal/llm"
	"weir/internal/simulator"
)

// TestContinuesPrefilledAnswer checks that a model continues the first bytes of its answer, sent as the assistant's,
// wherever it was broken off, in every wire format whose conversations may end with the assistant.
func TestContinuesPrefilledAnswer(t *testing.T) {
	t.Parallel()
	for _, c := range clients(t, newSimulator(t, simulator.Options{})) {
		for _, model := range []string{"story:tokens=30", "story:tokens=30,unicode", "chat:tokens=30,seed=5,think"} {
			whole := c.ask(model, true).text
			if rec := settled(t, c.sim); rec.Usage[llm.Output] != 30 {
				t.Fatalf("%s, %s: %+v", c.d.Name, model, rec)
			}
			for cut := range len(whole) + 1 {
				if cut == 0 || c.d.Name != "ollama" && cut%17 != 1 || strings.ToValidUTF8(whole[:cut], "") != whole[:cut] {
					continue
				}
				// The words of a chat depend on its body, which may request a stream.
				rest := c.ask(model, cut%2 == 0 || strings.HasPrefix(model, "chat"), begun(whole[:cut]))
				if e, refused := errors.AsType[*llm.Error](rest.err); refused && e.Code == llm.CodeInvalidRequest {
					break // its encoder refuses such a conversation
				}
				rec := settled(t, c.sim)
				if whole[:cut]+rest.text != whole || rec.Usage[llm.Output]+rec.Usage[llm.Reasoning] != rec.Pieces || rec.Pieces > 30 {
					t.Errorf("%s, %s: %q continues with %q, %+v; want %q", c.d.Name, model, whole[:cut], rest.text, rec, whole[cut:])
				}
			}
		}
	}
}

// TestContinuationIsCounted checks that only the tokens of the rest are counted, and that its cap is its own.
func TestContinuationIsCounted(t *testing.T) {
	t.Parallel()
	c := clientOf(t, newSimulator(t, simulator.Options{}), "ollama")
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
		got := c.ask(tt.model, true, begun(tt.begun))
		if rec := settled(t, c.sim); got.text != tt.rest || rec.Pieces != tt.pieces || rec.Usage[llm.Output] != tt.pieces {
			t.Errorf("%s, %q: got %q, %d pieces; want %q, %d", tt.model, tt.begun, got.text, rec.Pieces, tt.rest, tt.pieces)
		}
	}
}

// TestStoryDependsOnQuestionAndSeed checks that a story depends only on its question and the seed.
func TestStoryDependsOnQuestionAndSeed(t *testing.T) {
	t.Parallel()
	s := newSimulator(t, simulator.Options{Seed: 1})
	one := clientOf(t, s, "ollama")
	want := one.ask("story:tokens=60", false).text
	for _, c := range clients(t, s) {
		for _, model := range []string{"story:tokens=60", "story:tokens=60,pace=1us,fault=no-end", "story:tokens=60,usage=twice", "story:tokens=60,seed=1", "story:tokens=60,think"} {
			if got := c.ask(model, true, begun("Yes?"), userSays("What came down the river?")).text; got != want {
				t.Errorf("%s, %s: got %q, want %q", c.d.Name, model, got, want)
			}
		}
	}
	if got := one.ask("story", false).text; !strings.HasPrefix(got, strings.TrimSuffix(want, ".")) {
		t.Errorf("a longer story: %q, want it to begin %q", got, want)
	}
	for name, got := range map[string]said{
		"another seed":     clientOf(t, newSimulator(t, simulator.Options{Seed: 2}), "ollama").ask("story:tokens=60", false),
		"the seed option":  one.ask("story:tokens=60,seed=2", false),
		"another question": one.ask("story:tokens=60", false, begun("Yes?"), userSays("Hi")),
	} {
		if got.text == want || got.text == "" {
			t.Errorf("%s writes %q", name, got.text)
		}
	}
}

// TestVariantSharesBeginning checks that a variant has the same text up to a piece, and a different one from there.
func TestVariantSharesBeginning(t *testing.T) {
	t.Parallel()
	c := clientOf(t, newSimulator(t, simulator.Options{}), "bedrock")
	plain := c.ask("story:tokens=50", true).pieces
	for option, from := range map[string]int{"variant=0": 0, "variant=7": 7, "variant=20": 20, "variant=49": 49} {
		got := c.ask("story:tokens=50,"+option, true).pieces
		if len(plain) != 50 || !slices.Equal(got[:from], plain[:from]) {
			t.Fatalf("%s: got %q, plainly %q", option, got, plain)
		}
		for i := from; i < len(plain); i++ {
			if got[i] == plain[i] {
				t.Errorf("%s: piece %d is %q, as plainly", option, i, got[i])
			}
		}
	}
	c = clientOf(t, c.sim, "ollama") // its conversations may end with the assistant
	agreed, strayed := strings.Join(plain[:20], ""), strings.Join(plain[:21], "")
	if got := c.ask("story:tokens=50,variant=20", true, begun(agreed)).text; agreed+got == strings.Join(plain, "") || strings.HasPrefix(got, "Once") {
		t.Errorf("a variant that is to go on from where both agree: got %q", got)
	}
	if got := c.ask("story:tokens=50,variant=20", true, begun(strayed)).text; !strings.HasPrefix(got, "Once") {
		t.Errorf("a variant that is to go on with another's text: got %q, want it afresh", got)
	}
}

// TestSignaturesOfThinking checks that interrupted thinking has no signature, and that a request without required
// thinking is refused.
func TestSignaturesOfThinking(t *testing.T) {
	t.Parallel()
	w := ways(t, newSimulator(t, simulator.Options{}))[1]
	ask := func(model, rest string) heard {
		return w.askAt(t.Context(), "/v1/messages", `{"model":"`+model+`","thinking":{"type":"enabled","budget_tokens":1024},`+rest+`}`)
	}
	if got := ask("reason", `"max_tokens":4,"messages":[{"role":"user","content":"Hi"}]`); !strings.Contains(got.body, "thinking") || strings.Contains(got.body, `"signature":"c`) {
		t.Errorf("thinking that was cut off: %d %s, want no signature", got.status, got.body)
	}
	hello := `{"role":"user","content":"Hi"}`
	_, after, _ := strings.Cut(ask("reason", `"max_tokens":2000,"messages":[`+hello+`]`).body, `"signature":"`)
	signature, _, _ := strings.Cut(after, `"`)
	for block, want := range map[string]string{
		`"thinking":"Hm","signature":""`:                  "messages[1] is missing",
		`"thinking":"","signature":"` + signature + `"`:   `"role":"assistant"`,
		`"thinking":"","signature":"c2lt"`:                "messages[1] is not the one it went out with",
		`"thinking":"Hm","signature":"` + signature + `"`: "messages[1] is not the one it went out with",
	} {
		got := ask("reason:signed", `"max_tokens":2000,"messages":[`+hello+`,{"role":"assistant","content":[{"type":"thinking",`+block+`},{"type":"text","text":"x"}]},`+hello+`]`)
		if !strings.Contains(got.body, want) {
			t.Errorf("thinking that returns as %s: %d %s, want %s", block, got.status, got.body, want)
		}
	}
}
