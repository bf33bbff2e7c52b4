package dialect

import (
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// Counter is a way of asking a provider, by a POST that is charged for nothing, how many tokens its model reads of a
// chat in a wire format.
type Counter struct {
	Name string // in the catalogue and in the configuration
	// Path is what follows the base URL; with AtRoot, what follows the base URL without its version.
	Path   func(model string, stream bool) string
	AtRoot bool
	// Media is whether images, sounds and documents are counted as the chat reads them.
	Media bool
	// Body is the question about the body of a chat to the model. It does not change the chat's.
	Body func(chat []byte, model string) []byte
	// Decode reads the answer, as DecodeReply does, into llm.Reply.Counted.
	Decode func(body []byte, q *llm.Quirks) (*llm.Reply, error)
}

// EncodeCount is the EncodeReply of a count of tokens, which follows the beginning of its object.
func EncodeCount(beginning string) func(dst []byte, r *llm.Reply) []byte {
	return func(dst []byte, r *llm.Reply) []byte {
		return append(rawjson.AppendCount(dst, beginning, r.Counted), '}')
	}
}

// Counts reports whether chats in the wire format are counted in that way.
func (d *Dialect) Counts(way *Counter) bool {
	for _, c := range d.Counters {
		if c.Name == way.Name {
			return true
		}
	}
	return false
}

// Counter is the way of counting of that name; nil for none.
func (s Set) Counter(name string) *Counter {
	for _, d := range s {
		for _, c := range d.Counters {
			if c.Name == name {
				return c
			}
		}
	}
	return nil
}

// Counters are the names of all ways of counting.
func (s Set) Counters() (names []string) {
	for _, d := range s {
		for _, c := range d.Counters {
			names = append(names, c.Name)
		}
	}
	return names
}
