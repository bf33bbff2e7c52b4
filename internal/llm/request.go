package llm

import (
	"cmp"
	"encoding/json"
)

// Role is the role of a message's author.
type Role string

// The roles that wire formats share. A developer message has the role system.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Request is the tree of a chat request, which one wire format decodes and another encodes. Absent fields are nil or
// empty; no defaults are filled in.
type Request struct {
	Model    string
	Messages []Message
	Tools    []Tool
	// ToolChoice is nil for the provider's default.
	ToolChoice *ToolChoice
	// ParallelTools allows several tool calls in one answer.
	ParallelTools *bool

	MaxOutput        *int64       // in tokens, including reasoning
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
	Logprobs         *Logprobs // nil if not requested; it is also in Extra
	User             string

	Stream       bool
	IncludeUsage bool

	// Embedding is set if the request asks for embeddings instead of an answer to Messages; nil for a chat.
	Embedding *Embedding

	// Extra holds top-level fields without a field here, in order. They are in the wire format named by ExtraOf and
	// are sent only to providers that speak it.
	Extra   []Field
	ExtraOf string

	// Essential is the first field that changes the meaning of the request and that only the wire format ExtraOf can
	// express; nil for none.
	Essential *Essential

	// Wants holds the vendor's requirements beyond the wire format, for encoders.
	Wants Wants

	// CacheKey names the conversation for the provider's prompt cache, if the gateway added the name; empty for none. A
	// client's own is in Extra.
	CacheKey string

	// Elsewhere holds the forms for wire formats other than ExtraOf; nil for none, and after they were put in place.
	Elsewhere *Elsewhere
	// Unrun is the error for a tool that the client does not run, set when Elsewhere was put in place; nil for none.
	Unrun error
	// LeftOut names fields that were removed from the request and must be reported.
	LeftOut []string
}

// Thinking returns the options of thinking, which it adds if the request has none.
func (r *Request) Thinking() *ReasoningOptions {
	if r.Reasoning == nil {
		r.Reasoning = &ReasoningOptions{}
	}
	return r.Reasoning
}

// Wants holds a target's requirements for encoders of Chat Completions.
type Wants struct {
	Thinking string // the field that carries the thinking of an answer with tool calls; empty for none
	Required bool   // the field is sent even without thinking
	Prefix   bool   // a last message of the assistant is marked as a prefix of the answer
}

// Essential is a field that must not be omitted.
type Essential struct {
	Param   string // the name of the field in its wire format
	Instead string // an alternative for the client: a sentence without its full stop
}

// Field is a JSON member that is passed on unchanged.
type Field struct {
	Name  string
	Value json.RawMessage
}

// Message is one message of the conversation.
type Message struct {
	Role  Role
	Name  string // the author's name, if the client set one
	Parts []Part
	Extra []Field
	// Apart says that a system message, the first, was outside the conversation, such as the instructions of OpenAI's
	// Responses.
	Apart bool
	// At is the position in the client's conversation where the message begins, counted from 1; 0 if it is outside
	// the conversation.
	At int
}

// Text returns the text of the message: its text parts joined without a separator.
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

// PartKind is the kind of a part.
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
	PartOther // another kind of part, in Raw
)

// Part is one piece of a message. Kind decides which fields apply.
type Part struct {
	Kind PartKind
	// At is the position of the content element that the part comes from, counted from 1; 0 if it is the part's own
	// index.
	At   uint32
	Text string // text, reasoning, refusal

	// Signature is the provider's signature of its thinking, which later requests must return on the same part: on
	// reasoning, and for Gemini also on a text, which may be empty, or a tool call.
	Signature string
	Redacted  string // reasoning that the provider sent only in encrypted form
	// Maker is the wire format of the vendor whose model produced or signed this, such as "anthropic". Only this
	// vendor accepts the signature. Empty for unknown.
	Maker string

	Media *Media    // image, audio, document
	Call  *ToolCall // tool call
	// Result answers a tool call; its content is in Result.Parts.
	Result *ToolResult

	CacheControl json.RawMessage // marks the end of a prompt cache
	Annotations  json.RawMessage // citations of a text, in its wire format
	Sources      *Sources        // sources of an answer's part, in no wire format; nil for none
	Raw          json.RawMessage // PartOther: the part, unchanged
	Extra        []Field

	// Elsewhere is the form of the part in other wire formats; nil for the same form.
	Elsewhere *PartElsewhere
}

// TakesMark reports whether a prompt cache may end at the part. Vendors accept no marks on thinking.
func (p *Part) TakesMark() bool {
	switch p.Kind {
	case PartText:
		return p.Text != ""
	case PartImage, PartDocument, PartToolResult:
		return true
	}
	return false
}

// Index returns the index of the content element that a part comes from, counted from 0. i is the part's own index.
func (p *Part) Index(i int) int {
	if p.At > 0 {
		return int(p.At) - 1
	}
	return i
}

// Media is an image, a sound or a document: by address, by the provider's file id, or inline.
type Media struct {
	URL    string // http or https; empty if inline
	FileID string
	MIME   string // such as "image/png"; empty for unknown
	Data   string // base64, standard alphabet
	Format string // the name of a sound's format if the client set it, such as "wav"
	Name   string // a document's file name
	Detail string // an image's detail: low, high, auto
	// Document holds the client's settings for a document; nil for none.
	Document *Document
}

// Unshown returns a text in place of a medium, for an API that cannot carry it.
func (m *Media) Unshown() string {
	kind := cmp.Or(m.MIME, "unknown type")
	switch {
	case m.URL != "":
		return "[The model answered with a file (" + kind + "): " + m.URL + "]"
	default:
		return "[The model answered with a file (" + kind + "), which this API cannot show.]"
	}
}

// Words returns a text in place of the part, for wire formats that cannot carry it: its own text, or a description of
// its medium.
func (p *Part) Words() string {
	if p.Text == "" && p.Media != nil {
		return p.Media.Unshown()
	}
	return p.Text
}

// Tool is a function that the model may call, or a tool of the provider in Raw.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage // a JSON Schema
	Strict      *bool
	Raw         json.RawMessage // a tool that is not a function, unchanged
	Search      *WebSearch      // set if the tool is a web search; Raw may be nil then
	Extra       []Field         // members of a function without a field here, in the wire format ExtraOf

	CacheControl json.RawMessage // marks the end of a prompt cache
}

// ToolMode says whether the model may or must call tools.
type ToolMode string

// The modes that wire formats share.
const (
	ToolsAuto     ToolMode = "auto"
	ToolsNone     ToolMode = "none"
	ToolsRequired ToolMode = "required"
	ToolsNamed    ToolMode = "named" // the tool of that name
)

// ToolChoice is the client's setting for tool calls.
type ToolChoice struct {
	Mode ToolMode
	Name string
	// Allowed names the only functions that the model may call, with the modes auto and required; nil for all tools.
	Allowed []string
}

// ToolCall is a model's request to call a function.
type ToolCall struct {
	ID        string
	Name      string
	Arguments string // JSON text as the model wrote it; may be invalid
	MadeUp    bool   // the provider sent no id; this one is derived from the call's position
	Extra     []Field
}

// ToolResult is the result of a tool call.
type ToolResult struct {
	CallID  string
	Name    string
	Parts   []Part
	IsError bool
	Extra   []Field // members without a field here
}

// FormatKind is the required format of an answer.
type FormatKind string

// The formats.
const (
	FormatText   FormatKind = "text"
	FormatJSON   FormatKind = "json_object"
	FormatSchema FormatKind = "json_schema"
)

// Format requests structured output.
type Format struct {
	Kind        FormatKind
	Name        string
	Description string
	Schema      json.RawMessage // a JSON Schema
	Strict      *bool
	Extra       []Field // members without a field here
}

// IsText reports whether the answer may be plain text, which is the default.
func (f *Format) IsText() bool { return f == nil || f.Kind == FormatText }

// ReasoningOptions sets how much a reasoning model thinks.
type ReasoningOptions struct {
	Effort string // none, minimal, low, medium, high, ...; empty for unset
	Budget int64  // tokens; 0 for unset
	// Raw is the vendor's own object for thinking, if it has one, unchanged and in the wire format ExtraOf. Effort
	// and Budget are its equivalents for other formats.
	Raw json.RawMessage
}
