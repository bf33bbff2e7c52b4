package llm

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// FinishReason is the reason why generation ended. Each provider's reasons are mapped to these.
type FinishReason string

// The reasons.
const (
	FinishStop          FinishReason = "stop"
	FinishLength        FinishReason = "length"
	FinishContentFilter FinishReason = "content_filter"
	FinishToolCalls     FinishReason = "tool_calls"
	FinishError         FinishReason = "error"
)

// Reply is a whole answer.
type Reply struct {
	ID      string
	Created int64 // Unix seconds; 0 if the provider sent none
	Model   string
	Choices []Choice
	// Vectors are the embeddings, in the order of the texts; nil for a chat.
	Vectors []Vector
	// Base64 says that the client wants vectors in base64.
	Base64 bool
	// Echo are request fields that the answer repeats, in the client's wire format.
	Echo []Field
	// Called maps tool calls back to the client's tools.
	Called *Called
	// Counted is the number of input tokens, in an answer to token counting.
	Counted int64
	// Usage is valid only if Reported is true: no report differs from a report of zero.
	Usage    Usage
	Reported bool
	// Most is the upper bound of the provider's counts if they contradict one another, or some are missing or
	// invalid; nil if they agree.
	Most *Usage
	// Timed says that the provider reported the lifetime of its cache writes: all except CacheWrite1h have the
	// default one.
	Timed bool
	// Cost is the gateway's charge; nil while unknown and for a model without a price.
	Cost *Money
	// ProviderCost is the cost that the provider reported; nil for none.
	ProviderCost *Money
	// Tier lists the modes that the provider reported, separated by commas: the service tier in its own words, then
	// modes with a kind, such as "geo:us". ModeName maps them to the names of prices.
	Tier string
	// Extra holds top-level fields without a field here. They, and raw JSON deeper in the reply, are in the wire
	// format named by ExtraOf; empty if there is none.
	Extra   []Field
	ExtraOf string
}

// First returns the first choice; a zero one if there is none.
func (r *Reply) First() (c Choice) {
	if len(r.Choices) > 0 {
		c = r.Choices[0]
	}
	return c
}

// For returns the reply for the encoder of a wire format: without raw JSON of another wire format.
func (r *Reply) For(dialect string) *Reply {
	if r.ExtraOf == dialect || r.ExtraOf == "" || !r.hasRaw() {
		return r
	}
	plain := *r
	plain.Extra = nil
	plain.Choices = slices.Clone(r.Choices)
	for i := range plain.Choices {
		c := &plain.Choices[i]
		c.Extra, c.Logprobs, c.Message.Extra = nil, nil, nil
		c.Message.Parts = slices.Clone(c.Message.Parts)
		c.Message.Parts = slices.DeleteFunc(c.Message.Parts, func(p Part) bool {
			return p.Kind == PartOther && p.Search() == nil
		})
		for j := range c.Message.Parts {
			p := &c.Message.Parts[j]
			p.Extra, p.Annotations, p.CacheControl, p.Raw = nil, nil, nil, nil
			if p.Call != nil && p.Call.Extra != nil {
				call := *p.Call
				call.Extra = nil
				p.Call = &call
			}
		}
	}
	return &plain
}

// hasRaw reports whether the reply has raw JSON of its wire format, or parts that only this has.
func (r *Reply) hasRaw() bool {
	for i := range r.Choices {
		c := &r.Choices[i]
		if c.Extra != nil || c.Logprobs != nil || c.Message.Extra != nil {
			return true
		}
		for j := range c.Message.Parts {
			p := &c.Message.Parts[j]
			if p.Kind == PartOther || p.Extra != nil || p.Annotations != nil || p.CacheControl != nil || p.Raw != nil ||
				p.Call != nil && p.Call.Extra != nil {
				return true
			}
		}
	}
	return r.Extra != nil
}

// ServiceTier returns the service tier of a Tier; empty if it names none.
func ServiceTier(modes string) string {
	for name := range strings.SplitSeq(modes, ",") {
		if !strings.Contains(name, ":") {
			return name
		}
	}
	return ""
}

// Choice is one answer of a reply.
type Choice struct {
	Index   int
	Message Message
	Finish  FinishReason
	Stopped string // the client's stop sequence that ended it, if the provider reports it
	// Tokens are the tokens of its text with their log probabilities, if requested: a JSON array in the form of
	// logprobs.content of Chat Completions, with every member; nil for none.
	Tokens   json.RawMessage
	Logprobs json.RawMessage // the same with all other members, in the reply's wire format
	Extra    []Field
}

// EventKind is the kind of a stream's event.
type EventKind uint8

// The kinds of event.
const (
	EventStart     EventKind = iota + 1 // ID, Model, Created; Usage of the input, if reported this early
	EventText                           // Text, a piece of the answer; with Signature or Tokens, also without Text
	EventReasoning                      // Text, a piece of the thinking; or Signature; or Redacted
	EventRefusal                        // Text, a piece of a refusal
	// ToolDelta opens a call (ID, Name; Signature) or continues it (Text: a piece of the arguments)
	EventToolCall
	EventFinish // Finish; Text is as Choice.Stopped
	EventUsage  // Usage so far; the last event has the final one
	EventCost   // ProviderCost or Most without valid counts; only for the meter
	// a piece of another kind, in Raw; Media or Text hold its image, sound or text, if any
	EventOther
	EventClaim  // Claim, of the choice's text (EventText) so far; RawOf is the wire format whose EventOther repeats it
	EventSearch // Search, when it has ended; RawOf as in EventClaim
	EventDone   // the wire format's end marker
)

// IsPiece reports whether the event carries output of the model: text, thinking or tool calls.
func (k EventKind) IsPiece() bool {
	switch k {
	case EventText, EventReasoning, EventRefusal, EventToolCall, EventOther, EventClaim, EventSearch:
		return true
	}
	return false
}

// Event is one piece of a streamed answer. Kind decides which fields apply.
type Event struct {
	Kind   EventKind
	Choice int
	Text   string

	ID      string
	Model   string
	Created int64
	Tier    string // as in Reply; a later one replaces an earlier one

	Signature string
	Redacted  string // thinking that the provider sent only in encrypted form
	Maker     string // maker of the thinking or of Signature, as in Part
	Tool      ToolDelta
	Finish    FinishReason
	*Metered  // of EventUsage and EventCost, and of an EventStart that reports the input
	Raw       json.RawMessage
	RawOf     string // the wire format of Raw
	Media     *Media // EventOther: an image or a sound
	GoesOn    bool   // EventOther: continues the sound of the event before it
	Claim     *Claim
	Search    *Search
	Tokens    json.RawMessage // EventText: as in Choice, for this piece
}

// AppendEvent appends an event without its own fields and returns it. An append of a literal would take the size of an
// event in the caller's frame, and a stream keeps the stack that its largest frames need.
func AppendEvent(dst []Event, kind EventKind, choice int) ([]Event, *Event) {
	dst = slices.Grow(dst, 1)[:len(dst)+1]
	e := &dst[len(dst)-1]
	*e = Event{}
	e.Kind, e.Choice = kind, choice
	return dst, e
}

// AppendText appends an event with a text.
func AppendText(dst []Event, kind EventKind, choice int, text string) []Event {
	dst, e := AppendEvent(dst, kind, choice)
	e.Text = text
	return dst
}

// AppendFinish appends the end of a choice.
func AppendFinish(dst []Event, choice int, reason FinishReason) []Event {
	dst, e := AppendEvent(dst, EventFinish, choice)
	e.Finish = reason
	return dst
}

// Metered holds the figures of an event. They are apart from it, because most events have none and are copied often. A
// decoder may reuse them for its next frame.
type Metered struct {
	Usage Usage // EventUsage, and EventStart of Anthropic's messages, which begin with the input
	// Alone belongs to EventUsage: the provider's event had no choice.
	Alone        bool
	ProviderCost *Money // as in Reply
	Most         *Usage // as in Reply
	Timed        bool   // as Most
	Partial      bool   // EventUsage: counts of an unfinished answer, not yet the provider's last
	Instead      bool   // EventUsage: replaces the usage reported before, which is not charged
}

// Words returns a text in place of an EventOther, for encoders of other wire formats; empty for none.
func (e *Event) Words() string {
	if e.GoesOn {
		return ""
	}
	if e.Media != nil && e.Text == "" {
		return e.Media.Unshown()
	}
	return e.Text
}

// ToolDelta names the tool call of an event.
type ToolDelta struct {
	Index  int    // position among the calls of the choice
	ID     string // only in the first event of a call
	Name   string // only in the first event of a call
	MadeUp bool   // only in the first event of a call, as in ToolCall
}

// Final holds the values for the end of a streamed answer, after the attempt is settled.
type Final struct {
	Finish   []FinishReason // by choice; at least one
	Stopped  string         // as in Choice, of the first choice
	Usage    Usage
	Reported bool
	Cost     *Money   // nil for a model without a price
	Attempts int      // the number of attempts
	Models   []string // their models, as <provider>/<model-name>
}

// Meta holds the values that a stream's encoder writes into every piece.
type Meta struct {
	ID           string  // the request's id
	Created      int64   // Unix seconds
	Model        string  // <provider>/<model-name>
	IncludeUsage bool    // the client asked for usage in the stream
	Echo         []Field // as in Reply
	Called       *Called // as in Reply; it may be filled after the stream has begun
	Input        int64   // estimated tokens of the request, for formats that report them first; 0 for unknown
}

// Splice holds the changes to a body that is otherwise forwarded unchanged.
type Splice struct {
	Model     string // the provider's name of the model
	Stream    bool   // the request is a stream: request usage from the provider
	MaxOutput int64  // an output cap to add if the body has none; 0 for none
}

// ProviderError is an error as its provider reported it.
type ProviderError struct {
	Message string // its explanation, safe to show; empty for none
	Code    string // its own code or type, such as "context_length_exceeded"
	Param   string // the parameter that it names
	// identifies the cause if the provider has a finer identifier than Code: at most 64 letters a to z, digits and
	// underscores
	Word string
	// Filtered is the result of a content filter, as in Error.
	Filtered json.RawMessage
	// Status is the HTTP status that fits the error if the provider sends another: Gemini sends 400 for an invalid
	// key. Otherwise 0.
	Status int
	// RetryAfter is the time until a retry, if the body contains it; otherwise 0.
	RetryAfter time.Duration
}
