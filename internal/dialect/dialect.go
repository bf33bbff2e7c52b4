// Package dialect says what a wire format is that the gateway speaks. A dialect is
// one codec with two halves: the server half decodes a client's request and
// encodes the reply, the client half encodes a request to a provider and
// decodes what comes back. The gateway is the server half of one joined to the
// client half of another; the simulator is a server half joined to a script.
//
// Each wire format is a sub-package whose function Dialect describes it; package
// registry is the one place that knows them all.
package dialect

import (
	"io"
	"net/http"
	"net/url"
	"sort"
	"strings"
	"time"

	"weir/internal/llm"
	"weir/internal/sse"
)

// Dialect is one wire format: how a vendor says who asks, what went wrong and
// what its models are called, and its chat. A nil function means that the wire
// format has no such half; tests range over all and hold the rest to one
// conformance.
type Dialect struct {
	// Name is the word for it in the configuration and in the catalogue.
	Name string

	Habits

	// Inputs are what its requests may have that decides what they cost.
	Inputs Inputs

	// UsageAt are the paths, by members, at which an answer or an event of a stream tells usage:
	// an object of counts, or a single count.
	UsageAt [][]string

	// Operation is its chat.
	Operation
	// Operations are what it can do beside chat.
	Operations []*Operation

	// The server half.

	// ClientAPI is whether clients may speak it to the gateway; otherwise its
	// server half is the simulator's alone.
	ClientAPI bool
	// Vendor is the provider whose own client API this is: its models may be named
	// without a provider there. Empty for Weir's own client API.
	Vendor string
	// KeyHeaders are the headers, beside Authorization, in which a client of
	// this wire format may send its key.
	KeyHeaders []string
	// Usual is whether a provider of which nothing is said speaks it.
	Usual bool
	// InputFirst is whether a stream tells the tokens of the request before its answer.
	InputFirst bool
	// IDPrefix is what the ids of answers begin with, by which some programs
	// tell them from others.
	IDPrefix string
	// Status is the HTTP status of an error.
	Status func(c llm.Code) int
	// EncodeError appends the body of an error reply to dst.
	EncodeError func(dst []byte, e *llm.Error, requestID string) []byte
	// ReplyHeaders sets what the vendor has on every reply, errors too, beside
	// what every wire format has; nil for nothing.
	ReplyHeaders func(h http.Header, requestID string)
	// Models is how its clients list models in a way of their own; nil for none.
	Models *ModelList
	// Documents are its client API in OpenAPI's words, as YAML.
	Documents []string
	// Limits are the vendor's own headers of what the caller has left, where it has a limit.
	// Their resets are times in ResetLayout.
	Limits      []LimitHeaders
	ResetLayout string

	// The client half.

	// TierHeader is the header of an answer that names the service tier; empty where none does.
	TierHeader string
	// Auth is the credential.Scheme by which its vendor is shown who asks; empty for a bearer token.
	Auth string
	// Canonical is the one name under which a model that may be named in
	// several ways is known, priced and allowed; nil where there is one way.
	Canonical func(model string) string
	// Headers go with every request, beside the credential, unless the client's
	// own that are passed are in their places.
	Headers []Header
	// Passed are headers of a client's request that go to a provider of this wire
	// format: the request means something else without them.
	Passed []string
	// SearchTool is the tool of its own by which a wish for a search of the web is written for a provider with these quirks,
	// which may have none; nil where none has.
	SearchTool func(s *llm.WebSearch, q *llm.Quirks) []byte
	// Prefill is whether its vendor continues a conversation that ends with an
	// assistant's message behind that message.
	Prefill bool
	// ListPath is where providers of it list their models, behind the base URL; empty for nowhere.
	ListPath string
	// Inquiry is how some who speak it are asked about a reply; nil for none.
	Inquiry *Inquiry
	// Counters are how some who speak it count the tokens of a chat.
	Counters []*Counter
	// DecodeError reads the provider's explanation, fit to be shown, from an error body of any shape; empty for none.
	DecodeError func(body []byte) llm.ProviderError
}

// Habits are what its vendor or its clients do otherwise than others.
type Habits struct {
	// NoCallIDs is whether the vendor gives tool calls no ids.
	NoCallIDs bool
	// Fallbacks is whether the vendor has a field of its own called fallbacks: a word, or a list of objects.
	Fallbacks bool
	// Conversation is the field with the conversation where messages of the tree are not its elements one by one, Beside the
	// one with what the system says beside it, and Parts, where it is not content, what a message's parts are called.
	Conversation, Beside, Parts string
	// Names are what its clients call options that Chat Completions calls otherwise, by the name there.
	Names map[string]string
	// Collection is the beginning of the paths at which models are asked. Its last segment is left out by clients whose
	// model's name has a slash; empty where none do.
	Collection string
	// Returned are what the names of headers begin with that go from such a provider's answer to a client of this wire
	// format, such as its rate limits.
	Returned []string
}

// For is the operation of the wire format; nil where it has none such.
func (d *Dialect) For(op llm.Op) *Operation {
	if op == llm.OpChat {
		return &d.Operation
	}
	for _, o := range d.Operations {
		if o.Op == op {
			return o
		}
	}
	return nil
}

// Served are the operations that have a server half, by route.
func (d *Dialect) Served() map[string][]*Operation {
	served := map[string][]*Operation{}
	for _, o := range append([]*Operation{&d.Operation}, d.Operations...) {
		for _, route := range o.Routes {
			served[route] = append(served[route], o)
		}
	}
	return served
}

// Asked is the one of a route's operations that a request asks for.
func Asked(served []*Operation, path string) *Operation {
	for _, o := range served {
		if o.Suffix != "" && strings.HasSuffix(path, o.Suffix) {
			return o
		}
	}
	return served[0]
}

// Operation is one thing that can be asked for in a wire format, and its codec.
// Two wire formats share one where it is the same in both. One without
// DecodeRequest is not translated: it goes to providers that speak the same.
type Operation struct {
	Op llm.Op

	// The server half.

	// Routes are the ServeMux patterns at which it is asked for. A wildcard
	// {target...} in one is what Scan reads the model from.
	Routes []string
	// Suffix is what the path of a request ends with, where several operations
	// have a route in common; empty for the one that has the rest.
	Suffix string
	// Multipart is whether a request is multipart/form-data instead of JSON.
	Multipart bool
	// Silent is whether no tokens come out.
	Silent bool
	// Free is whether providers charge nothing for it.
	Free bool
	// Framing is how the events of a stream stand in its body.
	Framing Framing
	// KeepAlive is what goes out in every silence of a stream, and says nothing
	// to the clients of this wire format.
	KeepAlive string
	// ObjectCalls is whether the arguments of a call are an object, so that others cannot be told.
	ObjectCalls bool
	// EndMarker is what the wire format ends a whole stream with, if anything.
	EndMarker string
	// Scan validates the body as strict JSON and reads the head from its bytes
	// without building a tree. Fields it acts on may not stand twice or in
	// another case. Some wire formats say the model, or that a stream is
	// wanted, in the path or a header of r. Errors are *llm.Error.
	Scan func(body []byte, r *http.Request) (llm.Head, error)
	// DecodeRequest builds the tree of a body that passed Scan. Errors are
	// *llm.Error and name the parameter at fault.
	DecodeRequest func(body []byte) (*llm.Request, error)
	// EncodeReply appends a whole answer to dst.
	EncodeReply func(dst []byte, r *llm.Reply) []byte
	// NewEncoder encodes one streamed answer.
	NewEncoder func(m llm.Meta) Encoder
	// Echo is what of a request's body its answer repeats; nil for nothing.
	Echo func(body []byte) []llm.Field
	// Kept is the whole answer in the data of a stream's event, or nil where
	// that holds none, in a wire format whose answers are kept for requests to
	// come; a nil function in any other.
	Kept func(data []byte) []byte

	// The client half.

	// Path is what follows a provider's base URL.
	Path func(model string, stream bool) string
	// Instead is a sentence that says what to do where a provider does not offer it; empty for the list of models.
	Instead string
	// Uncapped is whether its chats have no output cap. EncodeRequest then names
	// a cap among what it dropped, Splice puts none in, and under a budget as much is
	// reserved as the longest answer of the model costs, or the request is refused.
	Uncapped bool
	// EncodeRequest writes the body of a request. Dropped names what this wire
	// format cannot carry and leaves out: at most 100 names of at most 64 bytes of
	// printable ASCII.
	EncodeRequest func(r *llm.Request, q *llm.Quirks) (body []byte, dropped []string, err error)
	// Splice appends to dst a body of this same wire format with nothing
	// changed but what the gateway must change: the model and, in a chat that has
	// none, the output cap, by which a budget holds.
	Splice func(dst, body []byte, h *llm.Head, s llm.Splice, q *llm.Quirks) []byte
	// Raw is whether a whole answer may be of another type than JSON.
	Raw bool
	// DecodeReply reads a whole answer. An *llm.Error is one that the provider
	// reported in place of it, and may come with the usage beside it; any other
	// error means that it did not keep to its protocol.
	DecodeReply func(body []byte, q *llm.Quirks) (*llm.Reply, error)
	// NewDecoder decodes one streamed answer.
	NewDecoder func(q *llm.Quirks) Decoder
	// Idle is whether an event of a stream tells nothing but that the answer begins or waits, or is
	// an error alone: an answer that fails behind such events is free. The data is JSON. Where it is
	// nil, those are errors alone.
	Idle func(frame sse.Event) bool
	// Stamp appends to dst a reply, or the data of one stream event, with its
	// usage completed by what the gateway charged. Without a usage object the
	// bytes stay as they are.
	Stamp func(dst, data []byte, f *llm.Final) []byte
	// NameCalls is a reply, or the data of one stream event, in which tool calls without an id have the one that
	// id returns for a choice, the call's index (-1 for none) and its function's name; empty for none. A nil
	// function in a wire format whose vendor gives all calls ids, or none.
	NameCalls func(data []byte, id func(choice, index int, name string) string) []byte
	// HasUsage reports whether the data of one stream event has a usage that Stamp
	// completes.
	HasUsage func(data []byte) bool
}

// Inquiry is a way of asking a provider, by a GET, about a reply that it has given.
type Inquiry struct {
	Name string // in the catalogue
	// Every is whether it is about replies in any wire format; otherwise about those
	// of the one that it is of.
	Every bool
	// Path is what follows the base URL.
	Path func(id string) string
	// Decode reads the answer as DecodeReply does.
	Decode func(body []byte, q *llm.Quirks) (*llm.Reply, error)
}

// Asks reports whether replies in the wire format are asked about in that way.
func (d *Dialect) Asks(way *Inquiry) bool { return d.Inquiry != nil && d.Inquiry.Name == way.Name }

// Header is one header of a request.
type Header struct{ Name, Value string }

// Framing is how the events of a stream stand in its body.
type Framing struct {
	// ContentType is the media type of a stream.
	ContentType string
	// NewReader reads events of at most max bytes.
	NewReader func(src io.Reader, max int) Frames
	// Append writes one event. Its name may be empty.
	Append func(dst []byte, name string, data []byte) []byte
}

// Frames are the events of a stream as they stand in its body.
type Frames interface {
	// Next is the next event, or io.EOF. It is valid until the next call.
	Next() (sse.Event, error)
	// Buffered reports whether another whole event is there without reading
	// on.
	Buffered() bool
	// Rest is what was read behind the last event that was given.
	Rest() []byte
}

// What ends a stream of OpenAI's and of those that took it over, and a comment, which
// clients of server-sent events pass over.
const (
	Done      = "data: [DONE]\n\n"
	KeepAlive = ": keep-alive\n\n"
)

// At is a path that is the same for every model.
func At(path string) func(string, bool) string { return func(string, bool) string { return path } }

// Unstamped is the Stamp of a reply without a usage.
func Unstamped(dst, data []byte, _ *llm.Final) []byte { return append(dst, data...) }

// ServerSent is the framing of most wire formats.
func ServerSent() Framing {
	return Framing{
		ContentType: "text/event-stream",
		NewReader:   func(src io.Reader, max int) Frames { return sse.NewReader(src, max) },
		Append:      sse.Append,
	}
}

// Decoder turns a provider's stream into events.
type Decoder interface {
	// Decode appends the events of one frame to dst. A *llm.Error is an error
	// that the provider reported in the stream; any other error is a frame
	// that is not the protocol.
	Decode(dst []llm.Event, frame sse.Event) ([]llm.Event, error)
}

// Follower is an encoder that can go on behind a stream which another one wrote.
type Follower interface {
	// Follow takes note of an event that went out as it came.
	Follow(frame sse.Event)
}

// Sized is a decoder or an encoder that keeps parts of an answer until it has ended.
type Sized interface {
	// Size is how many bytes they are, at least.
	Size() int
}

// Keeper is an encoder of answers that are kept.
type Keeper interface {
	// Kept is the whole answer, once Finish has written it and until the next call; nil for one
	// that no later request can go on from.
	Kept() []byte
}

// Encoder turns events into a client's stream. All methods append to dst.
type Encoder interface {
	// Append writes a piece of the answer: start, text, reasoning, refusal,
	// tool call. Finish and usage events are left to Finish.
	Append(dst []byte, e *llm.Event) []byte
	// Finish writes finish reasons, usage and the end marker.
	Finish(dst []byte, f *llm.Final) []byte
	// Fail writes an in-band error and ends the stream; no end marker follows.
	Fail(dst []byte, e *llm.Error) []byte
}

// ModelList is how the clients of a wire format ask which models there are.
type ModelList struct {
	// Path is where: a GET of it is for all, one of a name below it for that model.
	Path string
	// Header is one that each request of these clients has, where others ask at
	// the same path; empty where none do.
	Header string
	// List is the part of the models, sorted by name, that a query asks for, made of what One
	// made of each. Errors are *llm.Error.
	List func(query url.Values, models []Model, made [][]byte) ([]byte, error)
	One  func(m *Model) ([]byte, error)
}

// Model is what a list tells of one.
type Model struct {
	Name       string // "<provider>/<model-name>", or an alias
	Context    int64  // tokens; 0 for unknown
	MaxOutput  int64  // tokens; 0 for unknown
	Deprecated bool
	Day        time.Time // of what is known of it; zero for none
}

// ModelsUpTo is how many of the models, sorted by name, have that name or one
// before it.
func ModelsUpTo(sorted []Model, name string) int {
	return sort.Search(len(sorted), func(i int) bool { return sorted[i].Name > name })
}
