package llm

// Op is what a request asks a provider to do, as people call it. Operations are
// values, never a method each.
type Op string

// The operations.
const (
	OpChat          Op = "chat"               // messages in, an assistant's message out
	OpEmbed         Op = "embeddings"         // texts in, a vector for each out
	OpCountTokens   Op = "token counting"     // messages in, how many tokens they are out
	OpCompact       Op = "compaction"         // a conversation in, a shorter one out
	OpImage         Op = "image generation"   // a description in, images out
	OpImageEdit     Op = "image editing"      // images and a description in, images out
	OpSpeech        Op = "speech"             // a text in, sound out
	OpTranscription Op = "transcription"      // sound in, its words out
	OpTranslation   Op = "speech translation" // sound in, its words in English out
)

// Span is a half-open range of bytes in a body; its zero value is "absent".
type Span struct{ Start, End int }

// Present reports whether the span covers anything.
func (s Span) Present() bool { return s.End > s.Start }

// Head is what the pipeline needs to know of a request before anybody builds
// its tree, with the places in the body at which it stands.
type Head struct {
	Model        string // as the client asked; empty when absent
	MaxOutput    int64  // the client's cap on output tokens; 0 when absent
	NoCap        string // the field by which the client's cap is -1 or 0, which servers of one's own take for none; else empty
	Choices      int64  // how many answers are asked for; at least 1
	Stream       bool   // the client wants the reply piece by piece
	IncludeUsage bool   // the client of a stream asked for its usage
	Searches     bool   // a field of a chat asks for a search of the web
	Base64       bool   // the client asked for vectors in base64
	Empty        bool   // the body is an object without fields
	// LongCache says that it asks for its prompt to be cached for longer than is usual where its
	// wire format comes from.
	LongCache bool
	Tier      string // the service tier that the client asked for, where its answer may not tell it
	// Asked is what the request says of the units that it asks for, in modes with commas:
	// the size and quality of images, the memory of containers; and that the preview of a tool may search.
	Asked string
	// Thinking is how many tokens of thinking are asked for, where these may go beyond the output
	// cap; 0 for none.
	Thinking int64
	// Texts is how many texts vectors are asked for; 0 where it is not known.
	Texts int64
	// Units is what a request that is not for words is charged for where nobody
	// tells: the images that are asked for, the characters to be spoken, the
	// length of a recording, and what these are in tokens. Zero for words.
	Units Usage
	// Most is the most that it can be of each, whoever counts.
	Most Usage
	// Unknown is a field of a form that may ask for more than these say; empty for none.
	Unknown string

	ModelSpan         Span // the value of the model field, quotes included
	StreamOptionsSpan Span // the value of the stream-options field
	UserSpan          Span // the value of the field that names the end user
	TagsSpan          Span // the object of names and values that the client gives its request
	Open              int  // offset just behind the body's opening brace
}
