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

// maxWords bounds the text of an answer that is kept to go on from, in bytes.
// A longer one is not continued.
const maxWords = 256 << 10

// words is the answer as the client has been sent it.
type words struct {
	on    bool // somebody may have to go on from them
	text  []byte
	other bool // there was something that nobody can go on from

	counted int // bytes of text that have their memory
}

// rescue is how an answer that breaks off is continued elsewhere.
type rescue struct {
	call   *call
	words  words             // what the client has been sent of a stream
	before llm.Usage         // what the attempts used whose words the one under way goes on from
	broke  *provider.Failure // how the first of them ended
}

// add takes note of what is sent.
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

// resume is how an attempt goes on with an answer that another one began.
type resume struct {
	// prefill is whether it was asked to go on behind the words; otherwise it
	// begins anew, and its words are held against them.
	prefill bool
	// left is what its words still have to repeat; with prefill, the white
	// space that it may repeat.
	left []byte
	// words are what it is asked to go on behind, held what it said so far that
	// is the beginning of them: a provider may begin anew all the same.
	words []byte
	held  int
}

// onBehind says whether an attempt, begun or not, goes on behind the words.
func (s *resume) onBehind() bool { return s != nil && s.prefill }

// sureRestart is how many bytes of the beginning must come again, at most, to
// take an answer for one that begins anew.
const sureRestart = 16

// errDiverged is an answer that does not repeat the words of the one that it is
// to go on with.
var errDiverged = errors.New("gateway: another answer than the one that was begun")

func isDiverged(f *provider.Failure) bool { return errors.Is(f, errDiverged) }

// mayResume says whether an answer that broke off in this way may go on
// elsewhere.
func (r *rescue) mayResume(f *provider.Failure) bool {
	return r.words.on && !r.words.other && (isDiverged(f) || r.call.plan.Continues(f))
}

// elsewhere prepares the attempt by which the next target goes on with the
// answer; nil where there is none.
func (r *rescue) elsewhere(f *provider.Failure) *attempt {
	c := r.call
	if r.broke == nil {
		r.broke = f
	}
	switch {
	case r.refusedPrefill(f):
		if a := r.beginAnew(); a != nil {
			return a
		}
	case !r.mayResume(f):
		return nil
	}
	for c.plan.Onward(c.server.now()) {
		if a := r.goOn(); a != nil {
			return a
		}
		if a := r.beginAnew(); a != nil {
			return a
		}
	}
	return nil
}

// refusedPrefill says whether the target would not have a conversation that
// ends with the assistant.
func (r *rescue) refusedPrefill(f *provider.Failure) bool {
	a := r.call.attempt
	return a.resumes.onBehind() && a.tally.Length == 0 && route.FaultOf(f) == route.FaultRequest
}

// goOn is an attempt at the current target that goes on behind the words; nil where it cannot.
func (r *rescue) goOn() *attempt {
	a := r.call.newAttempt()
	request := a.behind()
	if request == nil || a.afford() != nil || a.encode(request) != nil {
		return nil
	}
	return a
}

// behind is the request by which an attempt goes on behind the words; nil where it cannot.
func (a *attempt) behind() *llm.Request {
	c := a.call
	words := c.rescue.words.text
	tree, err := c.Tree()
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
	if most := request.MaxOutput; most != nil { // the cap is for both together
		request.MaxOutput = new(max(1, *most-quote.CountTokens(text)))
	}
	a.resumes, a.Behind = &resume{prefill: true, left: words[len(text):], words: words}, int64(len(words))
	return &request
}

// beginAnew is an attempt at the current target at an answer of its own. Where tools may
// be called, or probabilities are told, words alone do not show that it is the
// same one.
func (r *rescue) beginAnew() *attempt {
	c := r.call
	tree, err := c.Tree()
	if err != nil || tree.HasTools() || tree.Logprobs != nil {
		return nil
	}
	a := c.newAttempt()
	a.resumes = &resume{left: r.words.text}
	if a.ask() != nil {
		return nil
	}
	return a
}

// pass takes out of a piece what the client already has, and reports whether
// anything of it is to be sent.
func (s *resume) pass(e *llm.Event) (bool, error) {
	switch e.Kind {
	case llm.EventStart, llm.EventReasoning:
		return false, nil // the client has had one of these
	case llm.EventRefusal, llm.EventToolCall, llm.EventOther, llm.EventClaim, llm.EventSearch:
		return false, errDiverged
	case llm.EventFinish:
		if !s.prefill && len(s.left) > 0 || s.held > 0 && s.words != nil {
			return false, errDiverged
		}
	case llm.EventText:
		e.Tokens = nil // of words that the client may have
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

// match takes the words that the client has off the front of a piece.
func (s *resume) match(e *llm.Event) error {
	n := commonPrefix(s.left, e.Text)
	if n < min(len(s.left), len(e.Text)) {
		return errDiverged
	}
	s.left, e.Text = s.left[n:], e.Text[n:]
	return nil
}

// behind takes white space that stands twice off the front of a piece, and
// holds back what may be the answer's beginning over again. Where it is, the
// answer goes on as one that begins anew.
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

// whole goes on with an answer that came whole, although a stream was
// asked for.
func (r *rescue) whole(a *attempt, reply *llm.Reply) error {
	a.tally = a.tally.Retold()
	rest := relay{call: r.call, attempt: a, stream: r.call.out, tally: &a.tally}
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
	rest.tally.Partial = false // its usage is of all of it
	return rest.finish()
}

// usageOfAll is what the answer that the client got used: with one that went on
// behind another's words, the words of both.
func (r *rescue) usageOfAll(u *llm.Usage) *llm.Usage {
	if !r.call.attempt.resumes.onBehind() {
		return u
	}
	all := r.before
	addOutput(&all, u)
	return &all
}

// addOutput adds the output classes.
func addOutput(to, u *llm.Usage) {
	for c := range llm.Class(llm.NumTokens) {
		if c.IsOutput() {
			to[c] += u[c]
		}
	}
}

// keepUsage takes note of what an attempt used whose words the next one goes on
// from.
func (r *rescue) keepUsage(u *llm.Usage, wentOn bool) {
	if wentOn {
		addOutput(&r.before, u)
		return
	}
	r.before = *u
}

// rescues says whether an answer that breaks off is to be continued elsewhere.
func (c *call) rescues() bool {
	return c.Op.Op == llm.OpChat && c.Head.Stream && c.Head.Choices == 1 && !c.own.noRescue && len(c.targets) > 1 &&
		c.table.Rescues(c.Head.Model)
}
