package llm

import "math"

// Class is a kind of usage that a provider charges for. The token classes are a partition: every token of a request
// is in exactly one, so that their sum is the provider's total.
type Class uint8

// The token classes come first, then the units that are not tokens.
const (
	Input          Class = iota // input text that was not read from a cache
	CacheRead                   // input read from the provider's prompt cache
	CacheWrite                  // input written to that cache for five minutes (or the provider's default)
	CacheWrite1h                // input written to that cache for an hour
	CacheReadAudio              // audio input read from the prompt cache
	AudioIn                     // audio input
	ImageIn                     // image input, if the provider counts it separately
	Citation                    // pages that the provider found and read, if it counts them separately
	Output                      // visible output text, tool calls included
	Reasoning                   // hidden or visible thinking
	AudioOut                    // audio output
	ImageOut                    // generated images, if the provider counts them separately in tokens

	Requests     // requests, for providers with a fee per request
	Images       // generated images
	Characters   // characters of speech synthesis
	Milliseconds // milliseconds of audio, or of the call of a tool

	// Usage of tools that a provider runs itself, by tool.
	Searches     // web searches
	Maps         // requests grounded in maps
	XSearches    // searches of X
	FileSearches // searches of stored files
	CodeSessions // containers in which code ran
	ToolImages   // images that a tool generated for a chat
	OtherTools   // calls of all other tools

	NumClasses   = int(OtherTools) + 1
	firstTool    = Searches
	NumTokens    = int(ImageOut) + 1 // the number of token classes, which come first
	firstOutput  = Output            // the first output class; the token classes before it are input
	MaxCount     = int64(1) << 40    // larger counts of a provider are rejected
	unknownClass = Class(NumClasses) // ParseClass returns it for an unknown name
)

var classNames = [NumClasses]string{
	"input", "cache_read", "cache_write", "cache_write_1h", "cache_read_audio", "audio_in", "image_in", "citation",
	"output", "reasoning", "audio_out", "image_out",
	"request", "image", "character", "millisecond",
	"search", "maps", "x_search", "file_search", "code_interpreter", "tool_image", "other_tool",
}

// String returns the name of the class in the journal, the database and reports.
func (c Class) String() string {
	if int(c) >= NumClasses {
		return "unknown"
	}
	return classNames[c]
}

// classWords describe each class and, in the plural, its unit.
var classWords = [NumClasses]struct{ what, unit string }{
	{"Input tokens", "Tokens"},
	{"Cache read tokens", "Tokens"},
	{"Cache write tokens", "Tokens"},
	{"Cache write tokens, 1 hour", "Tokens"},
	{"Cache read audio tokens", "Tokens"},
	{"Audio input tokens", "Tokens"},
	{"Image input tokens", "Tokens"},
	{"Citation tokens", "Tokens"},
	{"Output tokens", "Tokens"},
	{"Reasoning tokens", "Tokens"},
	{"Audio output tokens", "Tokens"},
	{"Image output tokens", "Tokens"},
	{"Request fee", "Requests"},
	{"Images", "Images"},
	{"Characters", "Characters"},
	{"Audio", "Milliseconds"},
	{"Web search", "Searches"},
	{"Maps", "Requests"},
	{"X search", "Searches"},
	{"File search", "Searches"},
	{"Code interpreter", "Sessions"},
	{"Images made by tools", "Images"},
	{"Other tools", "Calls"},
}

// What returns a description of the class, such as "Web search".
func (c Class) What() string { return classWords[c].what }

// Unit returns the unit of the class in the plural, such as "Searches".
func (c Class) Unit() string { return classWords[c].unit }

// IsInput reports whether the class counts input tokens.
func (c Class) IsInput() bool { return c < firstOutput }

// IsOutput reports whether the class counts output tokens.
func (c Class) IsOutput() bool { return c >= firstOutput && int(c) < NumTokens }

// IsTool reports whether the class counts usage of tools that the provider runs.
func (c Class) IsTool() bool { return c >= firstTool && int(c) < NumClasses }

// ParseClass returns the class of that name and reports whether there is one.
func ParseClass(name string) (Class, bool) {
	for c, n := range classNames {
		if n == name {
			return Class(c), true
		}
	}
	return unknownClass, false
}

// Usage counts the consumption of one attempt, by class.
type Usage [NumClasses]int64

// InputTokens returns the sum of the input classes: the provider's prompt tokens.
func (u *Usage) InputTokens() int64 { return u.sum(0, firstOutput) }

// OutputTokens returns the sum of the output classes: the completion tokens.
func (u *Usage) OutputTokens() int64 { return u.sum(firstOutput, Class(NumTokens)) }

// TotalTokens returns the sum of all token classes.
func (u *Usage) TotalTokens() int64 { return u.sum(0, Class(NumTokens)) }

// sum saturates, because a wrapped sum would choose the wrong price tier.
func (u *Usage) sum(from, to Class) (n int64) {
	for _, v := range u[from:to] {
		if n > 0 && v > math.MaxInt64-n {
			return math.MaxInt64
		}
		n += v
	}
	return n
}

// IsZero reports whether all counts are zero.
func (u *Usage) IsZero() bool { return *u == Usage{} }

// Add adds v to u, class by class.
func (u *Usage) Add(v *Usage) {
	for c := range u {
		u[c] += v[c]
	}
}

// Raise sets each class of u to the larger count of u and v.
func (u *Usage) Raise(v *Usage) {
	for c := range u {
		u[c] = max(u[c], v[c])
	}
}

// Plausible reports whether every count is possible: not negative and at most 2^40. A provider's other counts are
// rejected.
func (u *Usage) Plausible() bool {
	for _, v := range u {
		if v < 0 || v > MaxCount {
			return false
		}
	}
	return true
}

// Clamp sets negative counts to 0 and counts above MaxCount to MaxCount, so that sums of millions of attempts have
// room.
func (u *Usage) Clamp() {
	for c, v := range u {
		u[c] = min(max(v, 0), MaxCount)
	}
}

// Classes is a set of classes. The zero value is empty.
type Classes uint32

// With returns the set with one more class.
func (s Classes) With(c Class) Classes { return s | 1<<c }

// Without returns the set without a class.
func (s Classes) Without(c Class) Classes { return s &^ (1 << c) }

// Has reports whether the class is in the set.
func (s Classes) Has(c Class) bool { return s&(1<<c) != 0 }

// Names returns the names of the classes, in order; nil for none.
func (s Classes) Names() (names []string) {
	for c := range Class(NumClasses) {
		if s.Has(c) {
			names = append(names, c.String())
		}
	}
	return names
}

// ParseClasses returns the set of the named classes; false if a name is unknown.
func ParseClasses(names []string) (s Classes, ok bool) {
	for _, name := range names {
		c, known := ParseClass(name)
		if !known {
			return 0, false
		}
		s = s.With(c)
	}
	return s, true
}
