package llm

import "math"

// Class is one kind of thing that a provider charges for. The token classes
// are a partition: every token of a request is in exactly one of them, so a
// sum over them is the provider's own total.
type Class uint8

// The token classes come first, then the units that are not tokens.
const (
	Input          Class = iota // input text that no cache served
	CacheRead                   // input read from the provider's prompt cache
	CacheWrite                  // input written to that cache for five minutes (or the provider's default)
	CacheWrite1h                // input written to that cache for an hour
	CacheReadAudio              // audio input read from the prompt cache
	AudioIn                     // audio input
	ImageIn                     // image input, where the provider counts it apart
	Citation                    // pages that the provider found and read, where it counts them apart
	Output                      // visible output text, tool calls included
	Reasoning                   // hidden or shown thinking
	AudioOut                    // audio output
	ImageOut                    // images made, where the provider counts them in tokens apart

	Requests     // requests, for providers that charge for each
	Images       // images made
	Characters   // characters of speech synthesis
	Milliseconds // milliseconds of audio

	// What a provider does for a request with tools that it runs itself, by tool.
	Searches     // searches of the web
	Maps         // requests grounded in maps
	XSearches    // searches of X
	FileSearches // searches of stored files
	CodeSessions // containers in which code ran
	ToolImages   // images that a tool made for a chat
	OtherTools   // calls of all other tools

	NumClasses   = int(OtherTools) + 1
	firstTool    = Searches
	NumTokens    = int(ImageOut) + 1 // how many classes, from the first, are tokens
	firstOutput  = Output            // token classes before it are input
	maxCount     = int64(1) << 40    // what a provider says beyond this is not believed
	unknownClass = Class(NumClasses) // what ParseClass returns for no class
)

var classNames = [NumClasses]string{
	"input", "cache_read", "cache_write", "cache_write_1h", "cache_read_audio", "audio_in", "image_in", "citation",
	"output", "reasoning", "audio_out", "image_out",
	"request", "image", "character", "millisecond",
	"search", "maps", "x_search", "file_search", "code_interpreter", "tool_image", "other_tool",
}

// String is the name of the class in the journal, the database and reports.
func (c Class) String() string {
	if int(c) >= NumClasses {
		return "unknown"
	}
	return classNames[c]
}

// classWords say in words what a class counts and, in the plural, its unit.
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

// What says in words what the class counts, such as "Web search".
func (c Class) What() string { return classWords[c].what }

// Unit is what one of the class is, in the plural, such as "Searches".
func (c Class) Unit() string { return classWords[c].unit }

// IsInput reports whether the class counts tokens that went in.
func (c Class) IsInput() bool { return c < firstOutput }

// IsOutput reports whether the class counts tokens that came out.
func (c Class) IsOutput() bool { return c >= firstOutput && int(c) < NumTokens }

// IsTool reports whether the class counts what tools did that the provider runs.
func (c Class) IsTool() bool { return c >= firstTool && int(c) < NumClasses }

// ParseClass is the class of that name, and whether there is one.
func ParseClass(name string) (Class, bool) {
	for c, n := range classNames {
		if n == name {
			return Class(c), true
		}
	}
	return unknownClass, false
}

// Usage counts what one attempt consumed, by class.
type Usage [NumClasses]int64

// InputTokens is the sum of the input classes: the provider's prompt tokens.
func (u *Usage) InputTokens() int64 { return u.sum(0, firstOutput) }

// OutputTokens is the sum of the output classes: the completion tokens.
func (u *Usage) OutputTokens() int64 { return u.sum(firstOutput, Class(NumTokens)) }

// TotalTokens is the sum of all token classes.
func (u *Usage) TotalTokens() int64 { return u.sum(0, Class(NumTokens)) }

// sum saturates: a wrapped sum would choose the wrong price tier.
func (u *Usage) sum(from, to Class) (n int64) {
	for _, v := range u[from:to] {
		if n > 0 && v > math.MaxInt64-n {
			return math.MaxInt64
		}
		n += v
	}
	return n
}

// IsZero reports whether nothing was counted.
func (u *Usage) IsZero() bool { return *u == Usage{} }

// Add adds v to u, class by class.
func (u *Usage) Add(v *Usage) {
	for c := range u {
		u[c] += v[c]
	}
}

// Raise makes of two counts of the same things the larger, class by class.
func (u *Usage) Raise(v *Usage) {
	for c := range u {
		u[c] = max(u[c], v[c])
	}
}

// Plausible reports whether every count is one that a request can have: not
// negative and at most 2^40. Numbers of a broken provider are not believed.
func (u *Usage) Plausible() bool {
	for _, v := range u {
		if v < 0 || v > maxCount {
			return false
		}
	}
	return true
}

// Classes is a set of classes. The zero value is empty.
type Classes uint32

// With is the set with one more class.
func (s Classes) With(c Class) Classes { return s | 1<<c }

// Without is the set without a class.
func (s Classes) Without(c Class) Classes { return s &^ (1 << c) }

// Has reports whether the class is in the set.
func (s Classes) Has(c Class) bool { return s&(1<<c) != 0 }

// Names are the classes' names, in the order of the classes; nil for none.
func (s Classes) Names() (names []string) {
	for c := range Class(NumClasses) {
		if s.Has(c) {
			names = append(names, c.String())
		}
	}
	return names
}

// ParseClasses is the set of the classes of those names, and whether all are some.
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
