package llm

import (
	"cmp"
	"encoding/json"
)

// Role says who speaks in a message.
type Role string

// The roles that wire formats share. A developer's message is a system one.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Request is a chat request as a tree: what one wire format decodes and
// another encodes. Absent fields are nil or empty, never a default.
type Request struct {
	Model    string
	Messages []Message
	Tools    []Tool
	// ToolChoice is nil for the provider's default.
	ToolChoice *ToolChoice
	// ParallelTools allows several tool calls in one turn.
	ParallelTools *bool

	MaxOutput        *int64       // tokens, reasoning included
	Temperature      *json.Number // 0 to 2; the client's own digits
	TopP             *json.Number // above 0, to 1
	TopK             *int64
	FrequencyPenalty *json.Number
	PresencePenalty  *json.Number
	Seed             *int64
	Stop             []string
	Choices          *int64
	Format           *Format
	Reasoning        *ReasoningOptions
	Logprobs         *Logprobs // nil for no wish; it stands among Extra as well
	User             string

	Stream       bool
	IncludeUsage bool

	// Embedding is what is asked for in place of an answer to Messages; nil of a
	// chat.
	Embedding *Embedding

	// Extra holds top-level fields that nobody modelled, in their order. They
	// are in the words of the wire format named by ExtraOf and are given only
	// to a provider that speaks it.
	Extra   []Field
	ExtraOf string

	// Essential is the first field without which the request means something else, and that wire
	// formats other than ExtraOf have no word for; nil for none.
	Essential *Essential

	// Wants is what the target asks of encoders, where its vendor asks for more than its wire format does.
	Wants Wants

	// Elsewhere is what other wire formats than ExtraOf get in another form; nil for nothing, and once it is in place.
	Elsewhere *Elsewhere
	// Unrun is then the error of a tool that the client does not run; nil for none.
	Unrun error
	// LeftOut names what is not in the request any more, and has to be told.
	LeftOut []string
}

// Wants is what a target asks of encoders of Chat Completions.
type Wants struct {
	Thinking string // the field in which the thinking of a turn that calls tools comes back; empty for none
	Required bool   // it is there even where nothing was thought
	Prefix   bool   // a last message of the assistant says that the answer goes on with it
}

// Essential is a field that cannot be left out.
type Essential struct {
	Param   string // the name of the field in its wire format
	Instead string // what the client can do without it, a sentence without its full stop
}

// Field is a JSON member that travels untouched.
type Field struct {
	Name  string
	Value json.RawMessage
}

// Message is one turn of the conversation.
type Message struct {
	Role  Role
	Name  string // the speaker's name, where the client gave one
	Parts []Part
	Extra []Field
	// Apart is whether a system message, the first, stood beside the
	// conversation, such as the instructions of OpenAI's Responses.
	Apart bool
	// At is the element of the client's conversation with which it begins, counted from 1; 0 for what stands beside that.
	At int
}

// Text is all text of the message, its parts joined without a separator.
func (m *Message) Text() string { return joinText(m.Parts, PartText) }

func joinText(parts []Part, kind PartKind) string {
	var s Joined
	for i := range parts {
		if parts[i].Kind == kind {
			s.Add(parts[i].Text)
		}
	}
	return s.String()
}

// PartKind says what a part of a message is.
type PartKind uint8

// The kinds of part.
const (
	PartText PartKind = iota + 1
	PartReasoning
	PartRefusal
	PartImage
	PartAudio
	PartDocument
	PartToolCall
	PartToolResult
	PartOther // a part that nobody modelled; it stands in Raw
)

// Part is one piece of a message. Which fields count depends on Kind.
type Part struct {
	Kind PartKind
	// At is the element of the message's content that it is of, as the client wrote it, counted from 1; 0 for the one of its
	// own place.
	At   uint32
	Text string // text, reasoning, refusal

	// Signature is the provider's proof of its thinking, which it wants back in
	// later turns on the same part: of reasoning, and with Gemini of a text or a
	// tool call, too. A text may then be empty.
	Signature string
	Redacted  string // reasoning: thinking that the provider gave in encrypted form only
	// Maker is the wire format of the vendor whose model thought or signed this,
	// such as "anthropic": its signature is worth something there alone. Empty for
	// nobody known.
	Maker string

	Media *Media    // image, audio, document
	Call  *ToolCall // tool call
	// Result answers the call of that id; its content is in Result.Parts.
	Result *ToolResult

	CacheControl json.RawMessage // where a prompt cache is to end
	Annotations  json.RawMessage // citations of a text, in the words of its wire format
	Sources      *Sources        // of an answer's part, in the words of none; nil for none
	Raw          json.RawMessage // PartOther: the part as it came
	Extra        []Field

	// Elsewhere is the part in other wire formats' words; nil for as it is.
	Elsewhere *PartElsewhere
}

// Index is the element of the message's content that a part is of, counted from 0: the i-th part, unless it tells another.
func (p *Part) Index(i int) int {
	if p.At > 0 {
		return int(p.At) - 1
	}
	return i
}

// Media is an image, a sound or a document: by address, by the provider's own
// file id, or inline.
type Media struct {
	URL    string // http or https; empty when inline
	FileID string
	MIME   string // such as "image/png"; empty when unknown
	Data   string // base64, standard alphabet
	Format string // a sound's format word where the client gave that, such as "wav"
	Name   string // a document's file name
	Detail string // an image's detail: low, high, auto
	// Document holds what the client says of a document; nil for nothing.
	Document *Document
}

// Unshown are words in place of a medium, for an API that has no place for one.
func (m *Media) Unshown() string {
	kind := cmp.Or(m.MIME, "unknown type")
	switch {
	case m.URL != "":
		return "[The model answered with a file (" + kind + "): " + m.URL + "]"
	default:
		return "[The model answered with a file (" + kind + "), which this API cannot show.]"
	}
}

// Words are what an encoder of a wire format without a place for the part can
// tell of it: its text, else what it is.
func (p *Part) Words() string {
	if p.Text == "" && p.Media != nil {
		return p.Media.Unshown()
	}
	return p.Text
}

// Tool is a function that the model may call, or a server-side tool in Raw.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage // a JSON Schema
	Strict      *bool
	Raw         json.RawMessage // a tool that is not a function, as it came
	Search      *WebSearch      // the wish of one that is the search of the web; Raw may be nil then
	Extra       []Field         // members of a function that nobody modelled, in the words of the request's ExtraOf

	CacheControl json.RawMessage // where a prompt cache is to end
}

// ToolMode says whether tools are to be called.
type ToolMode string

// The modes that wire formats share.
const (
	ToolsAuto     ToolMode = "auto"
	ToolsNone     ToolMode = "none"
	ToolsRequired ToolMode = "required"
	ToolsNamed    ToolMode = "named" // the tool of that name
)

// ToolChoice is the client's wish about tools.
type ToolChoice struct {
	Mode ToolMode
	Name string
	// Allowed are the names of the only functions that may be called, with the modes auto and
	// required; nil for all tools.
	Allowed []string
}

// ToolCall is the model's wish to call a function.
type ToolCall struct {
	ID        string
	Name      string
	Arguments string // JSON text as the model wrote it; may be broken
	MadeUp    bool   // the provider gave no id: this one is made of the call's position
	Extra     []Field
}

// ToolResult is what a called function gave back.
type ToolResult struct {
	CallID  string
	Name    string
	Parts   []Part
	IsError bool
	Extra   []Field // members that nobody modelled
}

// FormatKind is the shape that the answer must have.
type FormatKind string

// The shapes.
const (
	FormatText   FormatKind = "text"
	FormatJSON   FormatKind = "json_object"
	FormatSchema FormatKind = "json_schema"
)

// Format asks for structured output.
type Format struct {
	Kind        FormatKind
	Name        string
	Description string
	Schema      json.RawMessage // a JSON Schema
	Strict      *bool
	Extra       []Field // members that nobody modelled
}

// IsText reports whether the answer may be plain text, as where nothing is asked for.
func (f *Format) IsText() bool { return f == nil || f.Kind == FormatText }

// ReasoningOptions asks a reasoning model to think more or less.
type ReasoningOptions struct {
	Effort string // none, minimal, low, medium, high, ...; empty for unset
	Budget int64  // tokens; 0 for unset
	// Raw is the vendor's own object that says how to think, where it has one,
	// as it came and in the words of the request's ExtraOf. Effort and Budget
	// say what others can make of it.
	Raw json.RawMessage
}
