// Package dialect defines the wire formats that the gateway speaks. A dialect is one codec with two halves: the
// server half decodes a client's request and encodes the reply; the client half encodes a request to a provider and
// decodes the answer. The gateway joins the server half of one dialect to the client half of another; the simulator
// joins a server half to a script.
//
// Each wire format is a sub-package whose function Dialect describes it; only package registry imports all of them.
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

// Dialect describes one wire format: its authentication, errors, names of models, and its chat. A nil function means
// that the wire format does not have that half; the tests cover all dialects and run one conformance on the halves
// that exist.
type Dialect struct {
	// Name is its name in the configuration and in the catalogue.
	Name string

	Habits

	// Inputs lists the inputs of its requests that affect the cost.
	Inputs Inputs

	// UsageAt lists the paths, by members, of usage in an answer or an event of a stream: an object of counts, or a
	// single count.
	UsageAt [][]string

	// Operation is its chat.
	Operation
	// Operations are the operations other than chat.
	Operations []*Operation

	// The server half.

	// ClientAPI says that clients may speak it to the gateway. Only tests have the server half of another one.
	ClientAPI bool
	// Vendor is the provider with this client API: its models may be named without a provider there. Empty for Weir's
	// own client API.
	Vendor string
	// KeyHeaders are the headers, in addition to Authorization, in which a client may send its key.
	KeyHeaders []string
	// Usual says that it is the default wire format of a provider.
	Usual bool
	// InputFirst says that a stream reports the tokens of the request before its answer.
	InputFirst bool
	// IDPrefix is the prefix of ids of answers, by which some programs recognise them.
	IDPrefix string
	// Status returns the HTTP status of an error.
	Status func(c llm.Code) int
	// EncodeError appends the body of an error reply to dst.
	EncodeError func(dst []byte, e *llm.Error, requestID string) []byte
	// ReplyHeaders sets the vendor's own headers of every reply, including errors; nil for none.
	ReplyHeaders func(f Fields, requestID string)
	// Models describes the vendor's own list of models; nil for none.
	Models *ModelList
	// Documents describe its client API in OpenAPI, as YAML.
	Documents []string
	// Limits are the vendor's own headers for the remaining rate limits, if the client has limits. Their resets are
	// times in ResetLayout.
	Limits      []LimitHeaders
	ResetLayout string

	// The client half.

	// TierHeader is the response header with the service tier; empty for none.
	TierHeader string
	// Auth is the credential.Scheme of its vendor; empty for a bearer token.
	Auth string
	// Canonical returns the only name of a model for permissions, prices and records, if a model may be named in
	// several ways; nil otherwise.
	Canonical func(model string) string
	// Headers are sent with every request, in addition to the credential, unless the client's own passed headers
	// replace them.
	Headers []Header
	// Passed are the client's request headers that are sent to a provider of this wire format, because they change
	// the meaning of the request.
	Passed []string
	// SearchTool returns the tool for a web search at a provider with these quirks, or nil if it has none; it is nil
	// if no provider has one.
	SearchTool func(s *llm.WebSearch, q *llm.Quirks) []byte
	// Prefill says that its vendor continues a last message of the assistant.
	Prefill bool
	// ListPath is the path, after the base URL, where providers list their models; empty for none.
	ListPath string
	// Inquiry describes how some of its providers report on an earlier reply; nil for none.
	Inquiry *Inquiry
	// Counters describe how some of its providers count the tokens of a chat.
	Counters []*Counter
	// DecodeError reads the provider's explanation, safe to show, from an error body of any shape; empty for none.
	DecodeError func(body []byte) llm.ProviderError
}

// Habits lists differences of its vendor or its clients from others.
type Habits struct {
	// NoCallIDs says that the vendor gives tool calls no ids.
	NoCallIDs bool
	// CacheMarks says that requests mark the end of prompts to cache.
	CacheMarks bool
	// Fallbacks says that the vendor has a field of its own named fallbacks: a string, or a list of objects.
	Fallbacks bool
	// Conversation is the field with the conversation if messages of the tree are not its elements one by one, Beside
	// the field with the system's instructions next to it, and Parts the field with a message's parts if it is not
	// content.
	Conversation, Beside, Parts string
	// Names maps Chat Completions' names of options to its own names.
	Names map[string]string
	// Collection is the prefix of the paths of models. Clients omit its last segment if the model's name has a slash;
	// empty if none do.
	Collection string
	// Returned are prefixes of response headers of such a provider that are passed to clients of this wire format,
	// such as its rate limits.
	Returned []string
}

// For returns the given operation of the wire format; nil for none.
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

// Served returns the operations with a server half, by route.
func (d *Dialect) Served() map[string][]*Operation {
	served := map[string][]*Operation{}
	for _, o := range append([]*Operation{&d.Operation}, d.Operations...) {
		for _, route := range o.Routes {
			served[route] = append(served[route], o)
		}
	}
	return served
}

// Asked returns the operation, among those of one route, that a request's path selects.
func Asked(served []*Operation, path string) *Operation {
	for _, o := range served {
		if o.Suffix != "" && strings.HasSuffix(path, o.Suffix) {
			return o
		}
	}
	return served[0]
}

// Operation is one operation of a wire format with its codec. Two wire formats share one if it is the same in both.
// An operation without DecodeRequest is not translated: it is sent only to providers of the same format.
type Operation struct {
	Op llm.Op

	// The server half.

	// Routes are its ServeMux patterns. Scan reads the model from the wildcard {target...}, if any.
	Routes []string
	// Suffix is the end of a request's path, if several operations share a route; empty for the default one.
	Suffix string
	// Multipart says that a request is multipart/form-data instead of JSON.
	Multipart bool
	// Live describes sessions of the operation by WebSocket; nil for none.
	Live *Live
	// Silent says that the answer has no tokens.
	Silent bool
	// Free says that providers do not charge for it.
	Free bool
	// Framing describes how the events of a stream are framed in its body.
	Framing Framing
	// KeepAlive is sent during pauses of a stream; clients of this wire format ignore it.
	KeepAlive string
	// ObjectCalls says that the arguments of a tool call are a JSON object, so that others cannot be sent.
	ObjectCalls bool
	// EndMarker is the end of a complete stream, if the wire format has one.
	EndMarker string
	// Scan validates the body as strict JSON and reads the head from its bytes without building a tree. A field that
	// it reads must not appear twice or in another case. In some wire formats the path or a header of r has the model
	// or the stream flag. Errors are *llm.Error.
	Scan func(body []byte, r *http.Request) (llm.Head, error)
	// DecodeRequest builds the tree of a body that passed Scan. Errors are *llm.Error and name the invalid parameter.
	DecodeRequest func(body []byte) (*llm.Request, error)
	// EncodeReply appends a whole answer to dst.
	EncodeReply func(dst []byte, r *llm.Reply) []byte
	// NewEncoder returns the encoder of one streamed answer.
	NewEncoder func(m llm.Meta) Encoder
	// Echo returns the fields of a request that its answer repeats; nil for none.
	Echo func(body []byte) []llm.Field
	// Kept returns the whole answer in the data of a stream's event, or nil if it has none, in a wire format whose
	// answers are stored for later requests; it is nil in others.
	Kept func(data []byte) []byte

	// The client half.

	// Path returns the path after a provider's base URL.
	Path func(model string, stream bool) string
	// Instead is a sentence that tells the client what to do if a provider does not offer the operation; empty for a
	// reference to the list of models.
	Instead string
	// Uncapped says that its chats have no output cap. EncodeRequest then reports a cap as dropped, Splice adds none,
	// and under a budget the reservation covers the longest answer of the model, or the request is refused.
	Uncapped bool
	// EncodeRequest encodes the body of a request. dropped names the fields that this wire format cannot express and
	// that are omitted: at most 100 names of at most 64 bytes of printable ASCII.
	EncodeRequest func(r *llm.Request, q *llm.Quirks) (body []byte, dropped []string, err error)
	// Splice appends to dst a body of this wire format with only the changes that the gateway needs: the model and,
	// in a chat without one, the output cap, which enforces budgets.
	Splice func(dst, body []byte, h *llm.Head, s llm.Splice, q *llm.Quirks) []byte
	// Raw says that a whole answer may have another type than JSON.
	Raw bool
	// DecodeReply decodes a whole answer. An *llm.Error is one that the provider reported instead of an answer; usage
	// may accompany it. Any other error means that the provider violated the protocol.
	DecodeReply func(body []byte, q *llm.Quirks) (*llm.Reply, error)
	// MeasureReply reads of a whole answer what decides its cost, in one pass, into m, which must be zero. It reports
	// false for an answer that DecodeReply has to read. It may be nil.
	MeasureReply func(body []byte, q *llm.Quirks, m *llm.Measured) bool
	// NewDecoder returns the decoder of one streamed answer.
	NewDecoder func(q *llm.Quirks) Decoder
	// Idle reports whether an event of a stream only starts the answer, waits, or reports an error: an answer that
	// fails after such events is free. The data is JSON. If it is nil, only errors are idle.
	Idle func(frame sse.Event) bool
	// Stamp appends to dst a reply, or the data of one stream event, with the gateway's charge in its usage. Without
	// a usage object the bytes stay unchanged.
	Stamp func(dst, data []byte, f *llm.Final) []byte
	// NameCalls returns a reply, or the data of one stream event, with ids added to tool calls without one. The
	// function id returns the id for a choice, the call's index (-1 for none) and its function's name; empty for
	// none. NameCalls is nil in a wire format whose vendor gives all calls ids, or none.
	NameCalls func(data []byte, id func(choice, index int, name string) string) []byte
	// HasUsage reports whether the data of one stream event has a usage that Stamp completes.
	HasUsage func(data []byte) bool
}

// Inquiry describes a request to a provider, a GET, for a report on an earlier reply.
type Inquiry struct {
	Name string // in the catalogue
	// Every says that it covers replies in any wire format, not only in its own.
	Every bool
	// Path returns the path after the base URL.
	Path func(id string) string
	// Decode decodes the answer as DecodeReply does.
	Decode func(body []byte, q *llm.Quirks) (*llm.Reply, error)
}

// Asks reports whether the wire format has the inquiry.
func (d *Dialect) Asks(way *Inquiry) bool { return d.Inquiry != nil && d.Inquiry.Name == way.Name }

// Header is one header of a request.
type Header struct{ Name, Value string }

// Framing describes how the events of a stream are framed in its body.
type Framing struct {
	// ContentType is the media type of a stream.
	ContentType string
	// NewReader returns a reader of events of at most max bytes.
	NewReader func(src io.Reader, max int) Frames
	// Append appends one event. Its name may be empty.
	Append func(dst []byte, name string, data []byte) []byte
	// Socket describes streams over a WebSocket; nil if the wire format has none.
	Socket *Socket
}

// Socket describes a WebSocket at the path of an operation, on which each message is the data of an event, with its
// name as type.
type Socket struct {
	Create     string   // the type of the message that asks for a stream; it has the fields of a request
	Without    []string // the fields of a request that have no meaning in a message
	HTTPOnly   []string // the fields of requests that are only possible over HTTP, unless they are false
	PerRequest []string // the headers that concern one request, and not all of a WebSocket
	First      string   // the type of the message that begins an answer
	Last       []string // the types of messages that end a stream
	ID         []string // the path of the answer's id in First and Last
	Error      string   // the type of a message that ends it with an error; with a status, it is that of HTTP
	TooOld     []string // the codes of errors of a WebSocket that is too old for a request, which was not served
	Ignored    []string // the beginnings of the types of messages that are no part of an answer
}

// Frames reads the events of a stream from its body.
type Frames interface {
	// Next returns the next event, or io.EOF. The event is valid until the next call.
	Next() (sse.Event, error)
	// Buffered reports whether another whole event is available without reading.
	Buffered() bool
	// Rest returns the bytes read after the last returned event.
	Rest() []byte
}

// The end of a stream of OpenAI's format and its derivatives, and a comment, which clients of server-sent events
// ignore.
const (
	Done      = "data: [DONE]\n\n"
	KeepAlive = ": keep-alive\n\n"
)

// At returns a Path that is the same for every model.
func At(path string) func(string, bool) string { return func(string, bool) string { return path } }

// Unstamped is the Stamp of a reply without usage.
func Unstamped(dst, data []byte, _ *llm.Final) []byte { return append(dst, data...) }

// ServerSent returns the framing of most wire formats.
func ServerSent() Framing {
	return Framing{
		ContentType: "text/event-stream",
		NewReader:   func(src io.Reader, max int) Frames { return sse.NewReader(src, max) },
		Append:      sse.Append,
	}
}

// Decoder decodes a provider's stream into events.
type Decoder interface {
	// Decode appends the events of one frame to dst. A *llm.Error is an error that the provider reported in the
	// stream; any other error means that the frame violates the protocol.
	Decode(dst []llm.Event, frame sse.Event) ([]llm.Event, error)
}

// Follower is an encoder that can continue a stream which another encoder began.
type Follower interface {
	// Follow observes an event that was sent unchanged.
	Follow(frame sse.Event)
}

// Sized is a decoder or an encoder that buffers parts of an answer until its end.
type Sized interface {
	// Size returns the number of buffered bytes, at least.
	Size() int
}

// Keeper is an encoder of answers that are stored.
type Keeper interface {
	// Kept returns the whole answer after Finish, valid until the next call; nil if no later request can continue it.
	Kept() []byte
}

// Encoder encodes events into a client's stream. All methods append to dst.
type Encoder interface {
	// Append appends a piece of the answer: start, text, reasoning, refusal, tool call. Finish handles finish and
	// usage events.
	Append(dst []byte, e *llm.Event) []byte
	// Finish appends finish reasons, usage and the end marker.
	Finish(dst []byte, f *llm.Final) []byte
	// Fail appends an in-band error and ends the stream; no end marker follows.
	Fail(dst []byte, e *llm.Error) []byte
}

// ModelList describes how the clients of a wire format list models.
type ModelList struct {
	// Path is the path of the list; a name below it selects one model.
	Path string
	// Header is a header that only these clients send, if others use the same path; empty if none do.
	Header string
	// List encodes the page of models, sorted by name, that a query selects, from the results of One for each. Errors
	// are *llm.Error.
	List func(query url.Values, models []Model, made [][]byte) ([]byte, error)
	One  func(m *Model) ([]byte, error)
}

// Model holds the properties of a model in a list.
type Model struct {
	Name       string // "<provider>/<model-name>", or an alias
	Context    int64  // tokens; 0 for unknown
	MaxOutput  int64  // tokens; 0 for unknown
	Deprecated bool
	Day        time.Time // of its data; zero for unknown
}

// ModelsUpTo returns the number of models, sorted by name, up to and including that name.
func ModelsUpTo(sorted []Model, name string) int {
	return sort.Search(len(sorted), func(i int) bool { return sorted[i].Name > name })
}
