package contract_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"weir/internal/dialect"
	"weir/internal/dialect/registry/registrytest"
	"weir/internal/llm"
	"weir/internal/must"
)

// given holds one answer of a provider, whole and streamed; one is nil if only the other form is known.
type given struct {
	name, dialect string
	form          [2][]byte // whole, streamed
}

// seededAnswers generates n answers of each wire format in its own form: thinking, texts, calls with and without ids,
// images, every end, usage. The same numbers generate the same answers.
func seededAnswers(n uint64) (all []given) {
	for _, d := range registrytest.All() {
		if d.Path == nil {
			continue
		}
		for i := range n {
			r := seededReply(rand.New(rand.NewPCG(i, 7)), d.Name)
			stream := streamedAnswer(d, r)
			all = append(all, given{fmt.Sprintf("%s, seed %d", d.Name, i), d.Name, [2][]byte{d.EncodeReply(nil, r), stream}})
		}
	}
	return all
}

func seededReply(rnd *rand.Rand, vendor string) *llm.Reply {
	one := func(words ...string) string { return words[rnd.IntN(len(words))] }
	r := &llm.Reply{ID: "id-1", Model: "m", ExtraOf: vendor, Created: 1790000000, Reported: true}
	r.Usage = llm.Usage{llm.Input: 10 + rnd.Int64N(90), llm.Output: 10 + rnd.Int64N(90)}
	c := llm.Choice{Message: llm.Message{Role: llm.RoleAssistant}}
	say := func(p llm.Part) { c.Message.Parts = append(c.Message.Parts, p) }
	if rnd.IntN(3) == 0 {
		r.Usage[llm.Reasoning] = 5
		say(llm.Part{Kind: llm.PartReasoning, Text: one("Hm.", "Let me see: é, 😀"), Maker: vendor, Signature: signature(vendor)})
	}
	if rnd.IntN(4) > 0 {
		say(llm.Part{Kind: llm.PartText, Text: one("Hi", "A weir is a low wall.", "{\"a\": \"b\\n\"}", "  é 日本 😀\n")})
	}
	if rnd.IntN(8) == 0 && slices.Contains([]string{"openai", "gemini"}, vendor) {
		say(llm.Part{Kind: llm.PartImage, Media: &llm.Media{MIME: "image/png", Data: "iVBORw0KGgo="}})
	}
	c.Finish = llm.FinishReason(one(string(llm.FinishStop), string(llm.FinishStop), string(llm.FinishLength), string(llm.FinishContentFilter)))
	if rnd.IntN(2) == 0 {
		for i := range 1 + rnd.IntN(3) {
			call := llm.ToolCall{ID: fmt.Sprint("call_", i), Name: "weather", Arguments: one("{}", `{"city":"Bern"}`, `{"city":"Zürich \"😀\"","days":[1,2.50]}`)}
			say(llm.Part{Kind: llm.PartToolCall, Call: &call})
		}
		c.Finish = llm.FinishToolCalls
	}
	if rnd.IntN(3) == 0 {
		r.Usage[llm.CacheRead] = 7
	}
	r.Choices = []llm.Choice{c}
	return r
}

func signature(vendor string) string {
	if slices.Contains([]string{"anthropic", "gemini"}, vendor) {
		return "c2lnbmVk"
	}
	return ""
}

// streamedAnswer encodes the reply as its vendor streams it, each text and each call's arguments in two pieces.
func streamedAnswer(d *dialect.Dialect, r *llm.Reply) (out []byte) {
	enc := d.NewEncoder(llm.Meta{ID: r.ID, Model: r.Model, Created: r.Created, IncludeUsage: true})
	emit := func(ev llm.Event) { out = enc.Append(out, &ev) }
	calls := 0
	for _, p := range r.Choices[0].Message.Parts {
		half := len(p.Text) / 2
		for half > 0 && p.Text[half]&0xC0 == 0x80 { // in the middle of a character
			half--
		}
		switch p.Kind {
		case llm.PartReasoning:
			emit(llm.Event{Kind: llm.EventReasoning, Text: p.Text[:half], Maker: p.Maker})
			emit(llm.Event{Kind: llm.EventReasoning, Text: p.Text[half:], Maker: p.Maker, Signature: p.Signature})
		case llm.PartText:
			emit(llm.Event{Kind: llm.EventText, Text: p.Text[:half]})
			emit(llm.Event{Kind: llm.EventText, Text: p.Text[half:]})
		case llm.PartImage:
			emit(llm.Event{Kind: llm.EventOther, Media: p.Media})
		case llm.PartToolCall:
			arguments := p.Call.Arguments
			emit(llm.Event{Kind: llm.EventToolCall, Tool: llm.ToolDelta{Index: calls, ID: p.Call.ID, Name: p.Call.Name}})
			emit(llm.Event{Kind: llm.EventToolCall, Tool: llm.ToolDelta{Index: calls}, Text: arguments[:1]})
			emit(llm.Event{Kind: llm.EventToolCall, Tool: llm.ToolDelta{Index: calls}, Text: arguments[1:]})
			calls++
		}
	}
	return enc.Finish(out, &llm.Final{Finish: []llm.FinishReason{r.Choices[0].Finish}, Usage: r.Usage, Reported: true})
}

// oddAnswers reads vendors' observed answers that are hard to translate: the files of testdata/answers, each named
// after its wire format, with the answer whole, streamed, or both.
func oddAnswers(t *testing.T) (all []given) {
	t.Helper()
	for _, path := range must.Get(filepath.Glob("testdata/answers/*.txt"))(t) {
		name := strings.TrimSuffix(filepath.Base(path), ".txt")
		vendor, _, _ := strings.Cut(name, "-")
		g := given{name: name, dialect: vendor}
		for _, f := range must.Get(txtar.ParseFile(path))(t).Files {
			if f.Name == "events" { // of Amazon's binary framing: a name and data a line
				f.Data = framed(registrytest.All().Named(vendor), f.Data)
			}
			g.form[map[string]int{"whole": 0, "stream": 1, "events": 1}[f.Name]] = f.Data
		}
		all = append(all, g)
	}
	if len(all) == 0 {
		t.Fatal("no files in testdata/answers")
	}
	return all
}

func framed(d *dialect.Dialect, lines []byte) (out []byte) {
	for line := range bytes.Lines(lines) {
		name, data, _ := bytes.Cut(bytes.TrimSpace(line), []byte(" "))
		out = d.Framing.Append(out, string(name), data)
	}
	return out
}

// recordedGiven reads the recorded answers of real providers.
func recordedGiven(t *testing.T) (all []given) {
	t.Helper()
	for name, list := range recordedAnswers(t) {
		for _, a := range list {
			g := given{name: a.name, dialect: name}
			g.form[map[bool]int{false: 0, true: 1}[a.stream]] = a.body
			all = append(all, g)
		}
	}
	return all
}
