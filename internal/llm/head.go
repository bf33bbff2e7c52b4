package llm

// Op is an operation, by its name for people. Operations are values, so that an interface has no method for each.
type Op string

// The operations.
const (
	OpChat          Op = "chat"               // from messages to an assistant's message
	OpEmbed         Op = "embeddings"         // from texts to a vector for each
	OpCountTokens   Op = "token counting"     // from messages to their number of tokens
	OpCompact       Op = "compaction"         // from a conversation to a shorter one
	OpImage         Op = "image generation"   // from a description to images
	OpImageEdit     Op = "image editing"      // from images and a description to images
	OpSpeech        Op = "speech"             // from a text to sound
	OpTranscription Op = "transcription"      // from sound to its text
	OpTranslation   Op = "speech translation" // from sound to its text in English
)

// Span is a half-open range of bytes in a body; its zero value means "absent".
type Span struct{ Start, End int }

// Present reports whether the span covers anything.
func (s Span) Present() bool { return s.End > s.Start }

// Head holds the fields of a request that are read without building its tree, with their positions in the body.
type Head struct {
	Model        string // as the client wrote it; empty if absent
	MaxOutput    int64  // the client's cap on output tokens; 0 if absent
	NoCap        string // the field with a cap of -1 or 0, which self-hosted servers read as no cap; else empty
	Choices      int64  // the number of answers requested; at least 1
	Stream       bool   // the client wants a stream
	IncludeUsage bool   // the client of a stream wants its usage
	Searches     bool   // a field of a chat requests a web search
	Base64       bool   // the client wants vectors in base64
	Empty        bool   // the body is an object without fields
	Usual        bool   // the body has only members that parse.Body knows as harmless, at any depth
	// LongCache says that the prompt must be cached for longer than the default of the wire format's vendor.
	LongCache bool
	Tier      string // the requested service tier, if the answer may not report it
	// Asked describes the requested units as modes separated by commas: the size and quality of images, the memory of
	// containers, and a preview version of the search tool.
	Asked string
	// Thinking is the requested number of thinking tokens if these may exceed the output cap; 0 for none.
	Thinking int64
	// Texts is the number of texts to embed; 0 for unknown.
	Texts int64
	// Units is the estimated usage of an operation that has no text answer, for providers that report none: the
	// requested images, the characters to speak, the length of a recording, and their tokens. It is zero for chats.
	Units Usage
	// Most is the upper bound of each class in Units, however the provider counts.
	Most Usage
	// Unknown is a field of a form that may request more than the other fields say; empty for none.
	Unknown string

	ModelSpan         Span // the value of the model field, including quotes
	StreamOptionsSpan Span // the value of the stream-options field
	UserSpan          Span // the value of the field that names the end user
	TagsSpan          Span // the value of the object with the request's tags
	Open              int  // offset just after the body's opening brace

	Conversation ConversationSpans
}

// ConversationSpans locates the fields of a chat by which its conversation is recognised.
type ConversationSpans struct {
	CacheKey Span // the client's name of the conversation for the vendor's prompt cache
	Session  Span // the client's name of its user and session
	System   Span // the system's instructions next to the messages
	Messages Span // the messages, or the only one as a string
}
