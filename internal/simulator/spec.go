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

// spec is a parsed model name: BASE or BASE:OPTION,OPTION=VALUE,… A path may precede it, as in the names of many
// vendors' models: us.anthropic.claude/BASE.
type spec struct {
	name string // as requested
	base string

	ttft, pace time.Duration
	late       time.Duration // wait before a stream's end, which reports the usage
	early      bool          // headers are sent before the wait for the first token

	tokens    int64 // of the visible answer; unset: the base model's own
	prompt    int64 // unset: counted
	cached    int64
	reasoning int64 // unset: the base model's own
	choices   int64 // unset: as requested
	calls     int64
	ids       bool // of calls, also for vendors without ids
	vendor    string
	seed      int64
	variant   int64 // the first piece of another text; unset: none
	uncapped  bool
	unicode   bool
	think     bool  // thinking is shown by any base model
	signed    bool  // returned thinking must be unchanged
	files     int64 // tokens of each image, sound or document; unset: tokensPerMedia
	searches  int64 // of the web, if the request offers a tool for it

	sound  time.Duration // of a spoken response in a Realtime session
	begins beginnings    // of responses of a Realtime session

	usage string
	tier  string    // service tier in the answer
	cost  llm.Money // the provider's own figure; unset: none
	after string    // charge for an answer that broke off; empty: the sent part

	trouble
	format
}

// trouble holds the fault and its place.
type trouble struct {
	fault      *fault
	status     int
	retryAfter string
	at         int64 // pieces before the fault
	bytes      int64 // bytes of the body before the fault, or of padding; unset: at applies
	times      int64 // the fault affects the first requests; unset: every one
	flap       int64
	rate       float64 // share of the requests with the fault
}

// format is the written form of an answer.
type format struct {
	chunk    int64 // bytes in each write; unset: an event or a body
	eol      string
	comments bool
	bom      bool
}

// unset marks a number that the model name does not set.
const unset = -1

// maxTokens bounds every count in a model name, and so memory and time.
const maxTokens = 1_000_000

// maxName bounds a model name, which stays in the ledger.
const maxName = 512

// The base models.
const (
	baseChat   = "chat"
	baseEcho   = "echo"
	baseTools  = "tools"
	baseJSON   = "json"
	baseReason = "reason"
	baseStory  = "story"
)

// parseSpec reads a model name. Errors are *llm.Error: an unknown base model is a model that is not found, any other
// error an invalid request.
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

// check refuses options without an effect, so that a mistake does not look like a successful test.
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

// ownCost returns the provider's own figure; nil for none.
func (s *spec) ownCost() *llm.Money {
	if s.cost == unset {
		return nil
	}
	return &s.cost
}

// counted reports whether the fault depends on the number of earlier requests.
func (s *spec) counted() bool {
	return s.times != unset || s.flap != unset || s.rate != unset
}

// meets reports whether the fault affects the request after n others of the same key and model.
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

// specCache remembers parsed model names. It clears itself when full, because names come from clients without a bound.
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

// beginnings says how responses of a Realtime session begin.
type beginnings struct {
	unasked bool // after each turn, whatever the session says
	unseen  bool // without response.created
	timed   bool // as at xAI, which charges the session by its duration
}
