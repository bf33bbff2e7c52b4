package gateway

import (
	"errors"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"weir/internal/llm"
	"weir/internal/provider"
	"weir/internal/quote"
	"weir/internal/route"
)

// maxWords bounds the stored text of an answer that may have to be continued, in bytes. A longer answer is not
// continued.
const maxWords = 256 << 10

// words is the answer's text as sent to the client.
type words struct {
	on    bool // another target may have to continue the answer
	text  []byte
	other bool // the answer has a part that cannot be continued

	counted int // bytes of text with reserved memory
}

// rescue continues an interrupted answer at another target.
type rescue struct {
	words  words             // text of a stream that the client has received
	before *llm.Usage        // usage of the attempts that the current one continues; nil before the second attempt
	broke  *provider.Failure // the failure of the first of them
}

// add records a part of the answer that is sent.
func (w *words) add(e *llm.Event) {
	if !w.on {
		return
	}
	switch e.Kind {
	case llm.EventText:
		if e.Choice != 0 || len(w.text)+len(e.Text) > maxWords {
			w.other = true
			return
		}
		w.text = append(w.text, e.Text...)
	case llm.EventRefusal, llm.EventToolCall, llm.EventOther, llm.EventClaim, llm.EventSearch:
		w.other = true
	}
}

// resume describes how an attempt continues an answer that another attempt began.
type resume struct {
	// prefill is true if the request ended with the text so far, to be continued. Otherwise the attempt answers anew,
	// and its text must repeat the text so far.
	prefill bool
	// left is the text that the attempt must still repeat; with prefill, the white space that it may repeat.
	left []byte
	// words are the text that the request ended with, and held is the length of the answer so far that equals the
	// beginning of that text: a provider may start the answer over in spite of the prefill.
	words []byte
	held  int
}

// onBehind reports whether an attempt, even one that is nil, continues behind the text so far.
func (s *resume) onBehind() bool { return s != nil && s.prefill }

// sureRestart is how many repeated bytes prove that an answer starts over.
const sureRestart = 16

// errDiverged means that an answer does not repeat the text of the answer that it should continue.
var errDiverged = errors.New("gateway: the new answer differs from the interrupted one")

func isDiverged(f *provider.Failure) bool { return errors.Is(f, errDiverged) }

// refusedPrefill reports whether the target refused a conversation that ends with the assistant's message.
func refusedPrefill(a *attempt, f *provider.Failure) bool {
	return a.resumes.onBehind() && a.tally.Length == 0 && route.FaultOf(f) == route.FaultRequest
}

// behind returns a request that ends with the text so far, for the target to continue; nil if that is not possible.
func (a *attempt) behind(words []byte) *llm.Request {
	tree, err := a.Tree()
	if err != nil || !a.Target.Provider.Prefills(a.Speaks) {
		return nil
	}
	text := strings.TrimRightFunc(string(words), unicode.IsSpace) // Anthropic refuses white space at the end
	if text == "" {
		return nil
	}
	request := *tree
	request.Messages = append(slices.Clone(tree.Messages), llm.Message{
		Role: llm.RoleAssistant, Parts: []llm.Part{{Kind: llm.PartText, Text: text}},
	})
	if most := request.MaxOutput; most != nil { // the cap is for both parts together
		request.MaxOutput = new(max(1, *most-quote.CountTokens(text)))
	}
	a.resumes, a.Behind = &resume{prefill: true, left: words[len(text):], words: words}, int64(len(words))
	return &request
}

// pass removes the text that the client already has from an event, and reports whether the rest of it is to be sent.
func (s *resume) pass(e *llm.Event) (bool, error) {
	switch e.Kind {
	case llm.EventStart, llm.EventReasoning:
		return false, nil // the client already has such an event
	case llm.EventRefusal, llm.EventToolCall, llm.EventOther, llm.EventClaim, llm.EventSearch:
		return false, errDiverged
	case llm.EventFinish:
		if !s.prefill && len(s.left) > 0 || s.held > 0 && s.words != nil {
			return false, errDiverged
		}
	case llm.EventText:
		e.Tokens = nil // these may belong to text that the client has
		if s.prefill {
			s.behind(e)
		}
		if !s.prefill {
			if err := s.match(e); err != nil {
				return false, err
			}
		}
		return e.Text != "", nil
	}
	return true, nil
}

// match removes the text that the client already has from the front of an event.
func (s *resume) match(e *llm.Event) error {
	n := commonPrefix(s.left, e.Text)
	if n < min(len(s.left), len(e.Text)) {
		return errDiverged
	}
	s.left, e.Text = s.left[n:], e.Text[n:]
	return nil
}

// behind removes repeated white space from the front of an event, and holds back text that may be the start of the
// answer once more. If it is, the attempt is treated as one that answers anew.
func (s *resume) behind(e *llm.Event) {
	if s.words == nil {
		return
	}
	if s.held == 0 {
		n := commonPrefix(s.left, e.Text)
		s.left, e.Text = s.left[n:], e.Text[n:]
	}
	said := string(s.words[:s.held]) + e.Text
	n := commonPrefix(s.words, said)
	switch {
	case n == len(s.words) || n >= sureRestart:
		s.prefill, s.left, s.words = false, s.words[s.held:], nil
	case n == len(said):
		s.held, e.Text = n, ""
	default:
		e.Text, s.words = said, nil
	}
}

func commonPrefix(a []byte, b string) (n int) {
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	for n > 0 && n < len(b) && !utf8.RuneStart(b[n]) {
		n--
	}
	return n
}

// continueWhole continues an answer with a reply that arrived whole although a stream was requested.
func (x *exchange) continueWhole(a *attempt, reply *llm.Reply) error {
	a.tally = a.tally.Retold()
	rest := x.relay(a)
	events := eventsOf(&reply.Choices[0])
	events = append(events, llm.Event{Kind: llm.EventFinish, Finish: reply.Choices[0].Finish})
	for i := range events {
		passes, err := rest.event(&events[i])
		if err != nil {
			rest.breakOff()
			return err
		}
		if passes && events[i].Kind.IsPiece() {
			rest.out = rest.stream.encoder.Append(rest.out, &events[i])
		}
	}
	rest.tally.Partial = false // its usage is complete
	x.finishStream(&rest)
	return nil
}

// usageOfAll returns the usage of the answer that the client got. If the last attempt, with usage u, continued
// another's text, it includes the output of both.
func (r *rescue) usageOfAll(u *llm.Usage, wentOn bool) *llm.Usage {
	if !wentOn {
		return u
	}
	all := *r.before
	addOutput(&all, u)
	return &all
}

// addOutput adds the output classes of u to to.
func addOutput(to, u *llm.Usage) {
	for c := range llm.Class(llm.NumTokens) {
		if c.IsOutput() {
			to[c] += u[c]
		}
	}
}

// keepUsage stores an attempt's usage. If the attempt continued another's text, it adds only the output.
func (r *rescue) keepUsage(u *llm.Usage, wentOn bool) {
	if wentOn {
		addOutput(r.before, u)
		return
	}
	first := *u
	r.before = &first
}

// rescues reports whether an interrupted answer may be continued at another target.
func (in *intake) rescues() bool {
	return in.Op.Op == llm.OpChat && in.Head.Stream && in.Head.Choices == 1 && !in.own.noRescue &&
		len(in.targets) > 1 && in.table.Rescues(in.Head.Model)
}
