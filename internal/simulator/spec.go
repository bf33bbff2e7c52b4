package simulator

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"weir/internal/llm"
)

// spec is a model name, read: BASE or BASE:OPTION,OPTION=VALUE,… A path may
// stand before it, as in the names of many vendors' models: us.anthropic.claude/BASE.
type spec struct {
	name string // as it was asked for
	base string

	ttft, pace time.Duration
	late       time.Duration // wait before a stream's end, which tells the usage
	early      bool          // headers go out before the wait for the first token

	tokens    int64 // of the visible answer; unset: the base model's own
	prompt    int64 // unset: counted
	cached    int64
	reasoning int64 // unset: the base model's own
	choices   int64 // unset: what the request asks for
	calls     int64
	ids       bool // of calls, also where the vendor gives none
	vendor    string
	seed      int64
	variant   int64 // the first piece of another text; unset: none
	uncapped  bool
	unicode   bool
	think     bool  // thinking is shown, whatever the base model
	signed    bool  // thinking that comes back must be as it went
	files     int64 // tokens of each image, sound or document; unset: tokensPerMedia
	searches  int64 // of the web, where the request offers a tool for it

	usage string
	tier  string    // service tier that the answer names
	cost  llm.Money // the provider's own figure; unset: it tells none
	after string    // what an answer that broke off is charged for; empty: what was sent

	trouble
	format
}

// trouble is what goes wrong.
type trouble struct {
	fault      *fault
	status     int
	retryAfter string
	at         int64 // pieces before the fault
	bytes      int64 // bytes of the body before the fault, or of padding; unset: at counts
	times      int64 // the fault meets that many requests, then no more; unset: every one
	flap       int64
	rate       float64 // share of the requests that the fault meets
}

// format is how an answer is written.
type format struct {
	chunk    int64 // bytes a write; unset: an event or a body a write
	eol      string
	comments bool
	bom      bool
}

// unset marks a number that the model name does not give.
const unset = -1

// maxTokens bounds every count in a model name, and with it memory and time.
const maxTokens = 1_000_000

// maxName bounds a model name, which stays in the ledger.
const maxName = 512

// base models, by what they answer.
const (
	baseChat   = "chat"
	baseEcho   = "echo"
	baseTools  = "tools"
	baseJSON   = "json"
	baseReason = "reason"
	baseStory  = "story"
)

// parseSpec reads a model name. Errors are *llm.Error: an unknown base model
// is a model that is not found, all else an invalid request.
func parseSpec(name string) (*spec, error) {
	if name == "" {
		return nil, llm.Invalid("model", "A model is required: one of "+strings.Join(baseNames(), ", ")+".")
	}
	if len(name) > maxName {
		return nil, llm.Invalidf("model", "The model name is longer than %d bytes.", maxName)
	}
	base, options, some := strings.Cut(name, ":")
	base = base[strings.LastIndexByte(base, '/')+1:]
	if !slices.Contains(baseNames(), base) {
		return nil, llm.Errorf(llm.CodeModelNotFound, "The model %q does not exist here. Known are %s, each with "+
			"options behind a colon.", base, strings.Join(baseNames(), ", ")).At("model")
	}
	s := &spec{
		name: name, base: base, calls: 1, tokens: unset, prompt: unset, reasoning: unset, choices: unset, seed: unset,
		variant: unset, files: unset, cost: unset,
		trouble: trouble{at: 3, bytes: unset, times: unset, flap: unset, rate: unset}, format: format{chunk: unset},
	}
	if err := s.readOptions(options, some); err != nil {
		return nil, llm.Invalidf("model", "The model name %q is not understood: %s.", name, err)
	}
	return s, nil
}

func (s *spec) readOptions(list string, some bool) error {
	if !some {
		return nil
	}
	seen := map[string]bool{}
	for text := range strings.SplitSeq(list, ",") {
		name, value, valued := strings.Cut(text, "=")
		o := findOption(name)
		switch {
		case o == nil:
			return fmt.Errorf("there is no option %q; known are %s", name, strings.Join(optionNames(), ", "))
		case seen[name]:
			return fmt.Errorf("the option %s stands twice", name)
		case valued && o.value == "":
			return fmt.Errorf("the option %s takes no value", name)
		case !valued && o.value != "":
			return fmt.Errorf("the option %s needs a value: %s=%s", name, name, o.value)
		}
		seen[name] = true
		if err := o.set(s, value); err != nil {
			return fmt.Errorf("%s %w", name, err)
		}
	}
	return s.check(seen)
}

// check refuses options that would have no effect, so that a slip of the pen
// is not taken for a test that passed.
func (s *spec) check(seen map[string]bool) error {
	fails := s.fault != nil || s.status != 0
	switch {
	case s.fault != nil && s.status != 0:
		return errors.New("fault and status exclude each other")
	case s.retryAfter != "" && s.status == 0:
		return errors.New("retry_after needs status=CODE")
	case (seen["at"] || seen["bytes"]) && s.fault == nil:
		return errors.New("at and bytes need fault=NAME")
	case seen["at"] && seen["bytes"]:
		return errors.New("at and bytes exclude each other")
	case s.cached > s.prompt && s.prompt != unset:
		return errors.New("cached is more than prompt")
	case s.variant != unset && slices.Contains([]string{baseEcho, baseJSON, baseTools}, s.base):
		return errors.New("variant needs a base model with words of its own: chat, story, reason")
	}
	modes := 0
	for _, name := range []string{"once", "times", "flap", "rate"} {
		if seen[name] {
			modes++
		}
	}
	if modes > 0 && !fails {
		return errors.New("once, times, flap and rate need fault=NAME or status=CODE")
	}
	if modes > 1 {
		return errors.New("once, times, flap and rate exclude each other")
	}
	if s.status != 0 {
		s.fault = &statusFault
	}
	return nil
}

// ownCost is the provider's own figure; nil for none.
func (s *spec) ownCost() *llm.Money {
	if s.cost == unset {
		return nil
	}
	return &s.cost
}

// counted reports whether the fault depends on how many requests came before.
func (s *spec) counted() bool {
	return s.times != unset || s.flap != unset || s.rate != unset
}

// meets reports whether the fault meets the request before which n others of
// the same key and model came.
func (s *spec) meets(n int64, seed uint64) bool {
	switch {
	case s.times != unset:
		return n < s.times
	case s.flap != unset:
		return n/s.flap%2 == 0
	case s.rate != unset:
		share := float64(mix(hash(seed, []byte(s.name))+uint64(n))>>11) / (1 << 53)
		return share < s.rate
	}
	return true
}

// specCache remembers model names that were read. It starts anew when full:
// names come from clients and are without number.
type specCache struct {
	mu    sync.RWMutex
	specs map[string]*spec
}

const maxSpecs = 4096

func (c *specCache) get(name string) (*spec, error) {
	c.mu.RLock()
	s := c.specs[name]
	c.mu.RUnlock()
	if s != nil {
		return s, nil
	}
	s, err := parseSpec(name)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.specs == nil || len(c.specs) >= maxSpecs {
		c.specs = map[string]*spec{}
	}
	c.specs[name] = s
	return s, nil
}
