package simulator

import (
	"fmt"
	"iter"

	"weir/internal/dialect/parse"
	"weir/internal/llm"
)

// answer is the answer to a request if nothing goes wrong. It is generated piece by piece while it is sent, so that its
// length costs no memory.
type answer struct {
	hash    uint64 // of the seed, the model and the request; decides every word
	choices int64
	prompt  int64 // input tokens, including cached ones
	cached  int64
	// The parts of the prompt that were stored in a cache, for the usual time and for an hour.
	written, writtenHour int64
	searches             int64 // of the web
	thinking             int64 // hidden thinking tokens of each choice
	parts                []part
	limit                int64 // visible pieces of a choice
	finish               llm.FinishReason
	logprobs             *llm.Logprobs // of the request
}

// part is a run of pieces of one kind. Every piece is one token.
type part struct {
	kind  llm.EventKind
	count int64
	// at returns the text of the i-th piece; h is the hash of the choice.
	at   func(h uint64, i int64) string
	tool llm.ToolDelta // kind EventToolCall; the first piece opens the call
	noID bool          // the same kind; the vendor assigns no ids to calls
}

const (
	defaultTokens   = 32
	defaultStory    = 64
	defaultThinking = 16
)

// newAnswer decides the answer to a request, with its fault or nil. A silent answer has no words.
func newAnswer(s *spec, req *llm.Request, h uint64, f *fault, silent bool) *answer {
	a := &answer{hash: h, choices: choicesOf(s, req), prompt: s.prompt, finish: llm.FinishStop, logprobs: req.Logprobs}
	if a.prompt == unset {
		perMedia := s.files
		if perMedia == unset {
			perMedia = tokensPerMedia
		}
		a.prompt = promptTokens(req, perMedia)
	}
	if silent { // no wire format reports a cache for these
		a.choices = 0
		return a
	}
	a.cached = min(s.cached, a.prompt)
	a.searches = searchesOf(req, s.searches)
	a.think(s)
	a.speak(s, req)
	a.resume(toContinue(s, req))
	if f != nil && f.alter != nil {
		f.alter(a, s)
	}
	a.truncate(s, req)
	return a
}

// choicesOf returns the number of answers.
func choicesOf(s *spec, req *llm.Request) int64 {
	switch {
	case s.choices != unset:
		return s.choices
	case req.Choices != nil:
		return min(max(*req.Choices, 1), maxChoices)
	}
	return 1
}

// think adds the thinking before the answer.
func (a *answer) think(s *spec) {
	n := s.reasoning
	if s.base != baseReason && !s.think {
		a.thinking = max(n, 0)
		return
	}
	if n == unset {
		n = defaultThinking
	}
	a.add(lorem(s, llm.EventReasoning, musing, n))
}

// speak adds the visible answer.
func (a *answer) speak(s *spec, req *llm.Request) {
	switch s.base {
	case baseEcho:
		a.say(s, splitWords(lastUserText(req)))
	case baseJSON:
		a.say(s, splitJSON(structured(req, a.hash)))
	case baseTools:
		if !a.call(s, req) {
			a.reportTools(s, req)
		}
	default:
		a.add(spoken(s))
	}
}

// spoken returns the whole text of a base model with words of its own.
func spoken(s *spec) part {
	opening, n := greeting, int64(defaultTokens)
	if s.base == baseStory {
		opening, n = telling, defaultStory
	}
	if s.tokens != unset {
		n = s.tokens
	}
	return lorem(s, llm.EventText, opening, n)
}

// say adds a text, cut to the length in the model name.
func (a *answer) say(s *spec, pieces []string) {
	if s.tokens != unset && s.tokens < int64(len(pieces)) {
		pieces = pieces[:s.tokens]
	}
	a.add(fixed(llm.EventText, pieces))
}

func (a *answer) add(p part) {
	if p.count > 0 {
		a.parts = append(a.parts, p)
		a.limit += p.count
	}
}

// truncate ends the answer at the request's cap on output tokens.
func (a *answer) truncate(s *spec, req *llm.Request) {
	if req.MaxOutput == nil || s.uncapped {
		return
	}
	most := max(*req.MaxOutput, 0)
	if a.thinking+a.limit > most {
		a.thinking = min(a.thinking, most)
		a.limit = most - a.thinking
		a.finish = llm.FinishLength
	}
}

// lorem returns a run of made-up words after an opening. A text ends with a full stop, and may have a variant.
func lorem(s *spec, kind llm.EventKind, opening []string, count int64) part {
	words := plainWords
	if s.unicode {
		words = foreignWords
	}
	open, text := int64(len(opening)), kind == llm.EventText
	at := func(h uint64, i int64) string {
		switch {
		case i < open:
			return opening[i]
		case text && i == count-1:
			return "."
		}
		return word(words, h, i)
	}
	if !text || s.variant == unset {
		return part{kind: kind, count: count, at: at}
	}
	return part{kind: kind, count: count, at: func(h uint64, i int64) string {
		if i < s.variant {
			return at(h, i)
		}
		return otherWord(words, at(h, i), h, i)
	}}
}

// fixed returns a run of given pieces.
func fixed(kind llm.EventKind, pieces []string) part {
	return part{kind: kind, count: int64(len(pieces)), at: func(_ uint64, i int64) string { return pieces[i] }}
}

// call adds the tool calls, and reports whether there are any: not if the request offers or allows no tool, and not if
// the last message is a tool's result.
func (a *answer) call(s *spec, req *llm.Request) bool {
	tools := callable(req)
	if len(tools) == 0 || lastIsResult(req) {
		return false
	}
	calls := s.calls
	if req.ParallelTools != nil && !*req.ParallelTools {
		calls = 1
	}
	for i := range calls {
		tool := tools[int(i)%len(tools)]
		args := splitJSON(fromSchema(tool.Parameters, mix(a.hash+uint64(i))))
		a.add(part{
			kind: llm.EventToolCall, count: int64(len(args)) + 1,
			tool: llm.ToolDelta{Index: int(i), Name: tool.Name},
			at: func(_ uint64, i int64) string {
				if i == 0 {
					return ""
				}
				return args[i-1]
			},
		})
	}
	a.finish = llm.FinishToolCalls
	return true
}

// reportTools adds the last tool result as a text, or the reason why no tool was called.
func (a *answer) reportTools(s *spec, req *llm.Request) {
	text := "No tool was called: the request offers none, or wants none."
	if lastIsResult(req) {
		text = "The tool said: " + lastResult(req)
	}
	a.say(s, splitWords(text))
}

// events yields the pieces of all choices in the order of sending: the first piece of each choice, the second of each,
// and so on. Complete thinking is followed by its signature.
func (a *answer) events() iter.Seq[llm.Event] {
	return func(yield func(llm.Event) bool) {
		var sent int64
		for i := range a.parts {
			p := &a.parts[i]
			n := min(p.count, a.limit-sent)
			for j := range n {
				for choice := range a.choices {
					if !yield(a.event(p, j, choice)) {
						return
					}
				}
			}
			sent += n
			if p.kind == llm.EventReasoning && n == p.count && !a.sign(p, yield) {
				return
			}
		}
	}
}

// sign yields the signature of every choice's thinking, and reports whether to continue.
func (a *answer) sign(p *part, yield func(llm.Event) bool) bool {
	for choice := range a.choices {
		text := p.whole(a.hashOf(choice), p.count)
		if !yield(llm.Event{Kind: p.kind, Choice: int(choice), Signature: text.Signature}) {
			return false
		}
	}
	return true
}

func (a *answer) event(p *part, i, choice int64) llm.Event {
	h := a.hashOf(choice)
	ev := llm.Event{Kind: p.kind, Choice: int(choice), Text: p.at(h, i)}
	if p.kind == llm.EventToolCall {
		ev.Tool.Index = p.tool.Index
		if i == 0 {
			ev.Tool = p.open(h)
		}
	}
	if a.logprobs != nil {
		var s parse.Tokens
		a.token(&s, p, h, i)
		ev.Tokens = s.List()
	}
	return ev
}

// hashOf returns the hash that decides the words of a choice.
func (a *answer) hashOf(choice int64) uint64 { return a.hash + uint64(choice)<<32 }

// open returns the beginning of a choice's tool call.
func (p *part) open(h uint64) llm.ToolDelta {
	t := p.tool
	if t.ID == "" && !p.noID {
		t.ID = callID(h, t.Index)
	}
	return t
}

// leaveIDsOut removes the ids of calls, except those set by a fault.
func (a *answer) leaveIDsOut() {
	for i := range a.parts {
		a.parts[i].noID = true
	}
}

// message returns the whole message of a choice.
func (a *answer) message(choice int64) llm.Message {
	m := llm.Message{Role: llm.RoleAssistant}
	left := a.limit
	for i := range a.parts {
		if left <= 0 {
			break
		}
		p := &a.parts[i]
		m.Parts = append(m.Parts, p.whole(a.hashOf(choice), min(p.count, left)))
		left -= p.count
	}
	return m
}

// usualPiece is the size of a piece in bytes, slightly above the average.
const usualPiece = 8

// whole returns the first pieces of the part as one.
func (p *part) whole(h uint64, pieces int64) llm.Part {
	text := make([]byte, 0, pieces*usualPiece)
	for i := range pieces {
		text = append(text, p.at(h, i)...)
	}
	out := llm.Part{Text: string(text)}
	switch p.kind {
	case llm.EventReasoning:
		out.Kind = llm.PartReasoning
		if pieces == p.count {
			out.Signature = signature(out.Text)
		}
	case llm.EventRefusal:
		out.Kind = llm.PartRefusal
	case llm.EventToolCall:
		call := p.open(h)
		out = llm.Part{Kind: llm.PartToolCall, Call: &llm.ToolCall{ID: call.ID, Name: call.Name, Arguments: out.Text}}
	default:
		out.Kind = llm.PartText
	}
	return out
}

// made returns the visible pieces of all choices together, by class.
func (a *answer) made() (output, reasoning int64) {
	left := a.limit
	for i := range a.parts {
		n := min(a.parts[i].count, left)
		left -= n
		if a.parts[i].kind == llm.EventReasoning {
			reasoning += n * a.choices
		} else {
			output += n * a.choices
		}
	}
	return output, reasoning
}

// callID returns the id of a tool call.
func callID(h uint64, index int) string {
	return fmt.Sprintf("call_%016x", mix(h+uint64(index)+1))
}

// finishes returns the finish reason of every choice.
func (a *answer) finishes() []llm.FinishReason {
	f := make([]llm.FinishReason, a.choices)
	for i := range f {
		f[i] = a.finish
	}
	return f
}

// pieces returns the number of pieces of all choices together.
func (a *answer) pieces() int64 { return a.limit * a.choices }
