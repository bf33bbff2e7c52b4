package vocabularytest_test

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"weir/internal/must"
	"weir/internal/quote"
)

var (
	vocabulariesFlag = flag.Bool("vocabularies", false, "count by published vocabularies; make vocabularies installs them")
	seedFlag         = flag.Uint64("vocabularies.seed", 1, "of the texts")
	longFlag         = flag.Bool("vocabularies.long", false, "count each token of each vocabulary by all vocabularies")
)

// start starts Node with the vocabularies, unless another test did, and a random source for texts.
func start(t *testing.T) (*counter, *rand.Rand) {
	t.Helper()
	if !*vocabulariesFlag {
		t.Skip("make vocabularies installs and counts by published vocabularies")
	}
	must.Do(t, counting.start())
	return &counting, rand.New(rand.NewPCG(*seedFlag, 0))
}

// ratio holds the greatest ratio of counted to held tokens, and its text.
type ratio struct {
	most float64
	of   string
}

func (r *ratio) see(counted, held int64, of string) {
	if now := float64(counted) / float64(max(1, held)); now > r.most {
		r.most, r.of = now, of
	}
}

// TestBoundIsAboveEveryVocabulary checks that no text of the usual classes, no character and no token has more tokens,
// in any vocabulary that may count it, than a budget holds for it.
func TestBoundIsAboveEveryVocabulary(t *testing.T) {
	node, random := start(t)
	var questions []question
	add := func(text string, in ...string) { questions = append(questions, question{Text: text, In: in}) }
	for _, size := range []int{300, 3000} {
		for _, text := range texts(random, size) {
			add(text)
		}
	}
	for _, text := range runs(random, 200) {
		add(text)
	}
	for _, text := range codePoints() { // others than these have no more than their bytes
		add(text, "qwen3", "claude", "o200k_base")
	}
	lists := node.ask(t, []question{{Tokens: true}})[0].Lists
	for _, name := range slices.Sorted(maps.Keys(lists)) { // in one order, so that a seed generates the same texts
		tokens := lists[name]
		for _, text := range batches(tokens, 200) {
			add(text, name)
		}
		for range 100 {
			escape := []string{"", "\b", "\t", `\`, `"`}[random.IntN(5)]
			add(strings.Repeat(escape+tokens[random.IntN(len(tokens))], 30))
		}
		if *longFlag {
			for _, token := range tokens {
				add(strings.Repeat(token, 8))
			}
		}
	}
	var worst ratio
	counts, below := 0, 0
	known := models(t)[:2] // for a text alone, the others have the same holds as these
	for i, a := range node.ask(t, questions) {
		body := says(questions[i].Text)
		for _, m := range known {
			for how, precision := range precisions {
				held := m.held(t, body, precision) - m.around(body)
				for in, counted := range a.Counts {
					if !m.in(in) {
						continue
					}
					counts++
					of := fmt.Sprintf("%s, %s, %s: %.40q", m.name, how, in, questions[i].Text)
					worst.see(counted, held, of)
					if counted > held {
						below++
						t.Errorf("%s: held at %d tokens in addition to those around the request, counted %d", of, held, counted)
					}
				}
			}
		}
	}
	t.Logf("%d texts, %d counts, seed %d: %d above what is held; the most %.3f of it, %s", len(questions), counts, *seedFlag, below, worst.most, worst.of)
}

// batches joins n tokens at a time.
func batches(tokens []string, n int) (texts []string) {
	for len(tokens) > 0 {
		some := tokens[:min(n, len(tokens))]
		texts = append(texts, strings.Join(some, ""))
		tokens = tokens[len(some):]
	}
	return texts
}

// TestBoundIsAboveEveryTemplate checks the same for requests, by the published templates and by servers' rewritten
// JSON.
func TestBoundIsAboveEveryTemplate(t *testing.T) {
	node, random := start(t)
	named := requests(random)
	names := make([]string, 0, len(named))
	var questions []question
	for name, body := range named {
		names, questions = append(names, name), append(questions, question{Body: body})
	}
	var worst ratio
	counts, below := 0, 0
	known := models(t)
	for i, a := range node.ask(t, questions) {
		for _, m := range known {
			for how, precision := range precisions {
				around := m.around(questions[i].Body)
				held := m.held(t, questions[i].Body, precision) - around
				for _, r := range a.Renderings {
					if !m.in(r.In) || !m.by(r.By) {
						continue
					}
					counts++
					of := fmt.Sprintf("%s, %s, %s by %s: %s", m.name, how, r.In, r.By, names[i])
					worst.see(r.Tokens-r.Around, held, of)
					if r.Tokens-r.Around > held || r.Around > around {
						below++
						t.Errorf("%s: held at %d tokens in addition to those around the request, counted %d and %d around", of, held, r.Tokens-r.Around, r.Around)
					}
				}
			}
		}
	}
	t.Logf("%d requests, %d counts: %d above what is held; the most %.3f of it, %s", len(questions), counts, below, worst.most, worst.of)
}

// TestControlsFindLowBounds checks that the two tests above can fail: with U+007F as no token, as the tokenizer library
// counts it, and with the arguments of a call held at their bytes, a bound is below the count.
func TestControlsFindLowBounds(t *testing.T) {
	node, _ := start(t)
	deleted := strings.Repeat("\x7f", 3000)
	call := calling(`{"a":`+repeated(2000, "7")+`}`, "ok")
	answers := node.ask(t, []question{{Text: deleted}, {Body: call}})
	known := models(t)
	open, same := known[0], known[1]
	if held, counted := same.held(t, says(""), quote.Fine)-same.around(""), answers[0].Counts["o200k_base"]; counted <= held {
		t.Errorf("%d tokens of U+007F are held at %d without it: the test of texts cannot fail", counted, held)
	}
	most := int64(0)
	for _, r := range answers[1].Renderings {
		if open.in(r.In) {
			most = max(most, r.Tokens-r.Around)
		}
	}
	if held := open.held(t, says(call), quote.Coarse) - open.around(""); most <= held {
		t.Errorf("%d tokens of rewritten arguments are held at %d by their bytes: the test of templates cannot fail", most, held)
	}
}
