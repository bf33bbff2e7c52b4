package llm

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// FinishReason says why generation ended. Every provider's own word is mapped
// to one of these.
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
	Created int64 // Unix seconds; 0 when the provider gave none
	Model   string
	Choices []Choice
	// Vectors are the embeddings, by text; nil of a chat.
	Vectors []Vector
	// Base64 is whether the client wants them in base64.
	Base64 bool
	// Echo are members of the request that the answer repeats, in the words of the
	// client's wire format.
	Echo []Field
	// Called says how the client names the tools that are called.
	Called *Called
	// Counted is the number of input tokens of a request for just that.
	Counted int64
	// Usage counts only where Reported is true: a provider that reports
	// nothing is not one that reports zero.
	Usage    Usage
	Reported bool
	// Most is what the provider's counts come to at most where they contradict one another, or
	// some of them cannot be read or are missing; nil where they agree.
	Most *Usage
	// Timed says that the provider told for how long it keeps what it wrote to its cache: all
	// that is not CacheWrite1h is kept for the usual time.
	Timed bool
	// Cost is what the gateway charged; nil while it is not known, or for a
	// model without a price.
	Cost *Money
	// ProviderCost is what the provider itself says that the answer costs; nil of one
	// that says nothing.
	ProviderCost *Money
	// Tier are the modes in which the provider says it served, with commas between: the
	// service tier in its own words, then those with a kind, such as "geo:us". ModeName
	// has the names under which they have prices.
	Tier string
	// Extra holds top-level fields that nobody modelled. They, and whatever raw
	// JSON stands deeper, are in the words of the wire format named by ExtraOf; empty for no such JSON.
	Extra   []Field
	ExtraOf string
}

// For is the reply as the encoder of a wire format may write it: without the
// raw JSON that is in the words of another.
func (r *Reply) For(dialect string) *Reply {
	if r.ExtraOf == dialect || r.ExtraOf == "" {
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

// ServiceTier is the service tier of a Tier; empty where it names none.
func ServiceTier(modes string) string {
	for name := range strings.SplitSeq(modes, ",") {
		if !strings.Contains(name, ":") {
			return name
		}
	}
	return ""
}

// Choice is one of the answers of a reply.
type Choice struct {
	Index   int
	Message Message
	Finish  FinishReason
	Stopped string // the client's stop sequence that ended it, where the provider tells it
	// Tokens are those of its text with their log probabilities, where they were asked for: a JSON array as
	// logprobs.content of Chat Completions has it, with every member; nil for none.
	Tokens   json.RawMessage
	Logprobs json.RawMessage // the same, and what else stands beside it, in the words of the reply's wire format
	Extra    []Field
}

// EventKind says what an event of a stream carries.
type EventKind uint8

// The kinds of event.
const (
	EventStart     EventKind = iota + 1 // ID, Model, Created; Usage of the input, where it is known so early
	EventText                           // Text, a piece of the answer; with Signature or Tokens, which may come alone
	EventReasoning                      // Text, a piece of the thinking; or Signature; or Redacted
	EventRefusal                        // Text, a piece of a refusal
	// Tool opens a call (ID, Name; Signature) or continues it (Text: a piece of the arguments)
	EventToolCall
	EventFinish // Finish; Text is as Choice.Stopped
	EventUsage  // Usage so far, the last one counts
	EventCost   // ProviderCost or Most, where no counts come with it that hold; for the meter alone
	// a piece that nobody modelled, in Raw; of one that shows or says something, Media or Text has it, too
	EventOther
	EventClaim  // Claim, of the choice's text (EventText) so far; RawOf is whose EventOther tells it, too
	EventSearch // Search, once it is done; RawOf as of EventClaim
	EventDone   // the wire format's end marker
)

// IsPiece says whether such an event is of what the model says, thinks or calls.
func (k EventKind) IsPiece() bool {
	switch k {
	case EventText, EventReasoning, EventRefusal, EventToolCall, EventOther, EventClaim, EventSearch:
		return true
	}
	return false
}

// Event is one piece of a streamed answer. Which fields count depends on Kind.
type Event struct {
	Kind   EventKind
	Choice int
	Text   string

	ID      string
	Model   string
	Created int64
	Tier    string // as in Reply; a later one replaces it

	Signature string
	Redacted  string // thinking that the provider gave in encrypted form only
	Maker     string // of thinking and of a Signature: as in Part
	Tool      ToolDelta
	Finish    FinishReason
	Usage     Usage
	// Alone belongs to EventUsage: no choice stood beside it.
	Alone bool
	// ProviderCost belongs to EventUsage and EventCost: as in Reply.
	ProviderCost *Money
	Most         *Usage // EventUsage and EventCost: as in Reply
	Timed        bool   // likewise
	Partial      bool   // EventUsage: counts of an answer that goes on, not yet the provider's last
	Instead      bool   // EventUsage: what was told before it is not charged
	Raw          json.RawMessage
	RawOf        string // the wire format in whose words Raw is
	Media        *Media // EventOther: an image or a sound
	GoesOn       bool   // EventOther: a piece of the sound that the event before it began
	Claim        *Claim
	Search       *Search
	Tokens       json.RawMessage // EventText: as in Choice, those of the piece
}

// Words are what an encoder of another wire format can tell of an EventOther that
// it has no place for; empty for nothing.
func (e *Event) Words() string {
	if e.GoesOn {
		return ""
	}
	if e.Media != nil && e.Text == "" {
		return e.Media.Unshown()
	}
	return e.Text
}

// ToolDelta says which tool call an event belongs to.
type ToolDelta struct {
	Index  int    // position among the calls of the choice
	ID     string // on the first event of a call
	Name   string // on the first event of a call
	MadeUp bool   // on the first event of a call: as in ToolCall
}

// Final is what the end of a streamed answer tells the client, once the
// attempt is settled.
type Final struct {
	Finish   []FinishReason // by choice; at least one
	Stopped  string         // as in Choice, of the first one
	Usage    Usage
	Reported bool
	Cost     *Money   // nil for a model without a price
	Attempts int      // how many attempts the answer took
	Models   []string // their models, as <provider>/<model-name>
}

// Meta is what a stream's encoder stamps on every piece.
type Meta struct {
	ID           string  // the request's id
	Created      int64   // Unix seconds
	Model        string  // <provider>/<model-name>
	IncludeUsage bool    // the client asked for usage in the stream
	Echo         []Field // as in Reply
	Called       *Called // likewise; it may be filled when the stream has begun
	Input        int64   // tokens of the request by estimate, for formats that tell them first; 0 for unknown
}

// Splice says what changes in a body that is otherwise forwarded untouched.
type Splice struct {
	Model     string // the provider's name of the model
	Stream    bool   // the request is a stream: ask the provider for its usage
	MaxOutput int64  // an output cap to put in where there is none; 0 for none
}

// ProviderError is what a provider says about its own error.
type ProviderError struct {
	Message string // its explanation, safe to show; empty when it gave none
	Code    string // its own code or type, such as "context_length_exceeded"
	Param   string // the parameter it names
	// for the cause, where it has a finer one than Code: at most 64 letters a to z, digits and underscores
	Word string
	// Filtered is what a content filter found, as in Error.
	Filtered json.RawMessage
	// Status is the HTTP status that the error should have come with, where a
	// provider has another for it: Gemini says 400 of a wrong key. 0 otherwise.
	Status int
	// RetryAfter is when it wants to be asked again, where its body says so; 0
	// otherwise.
	RetryAfter time.Duration
}
