package dialect

import (
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// Counter describes a free request, a POST, by which a provider counts the tokens of a chat in a wire format for its
// model.
type Counter struct {
	Name string // in the catalogue and in the configuration
	// Path returns the path after the base URL; with AtRoot, after the base URL without its version.
	Path   func(model string, stream bool) string
	AtRoot bool
	// Media says that images, audio and documents are counted as in the chat.
	Media bool
	// Body returns the body of the request for a chat to the model. It does not change the chat.
	Body func(chat []byte, model string) []byte
	// Decode decodes the answer into llm.Reply.Counted, as DecodeReply does.
	Decode func(body []byte, q *llm.Quirks) (*llm.Reply, error)
}

// EncodeCount returns the EncodeReply of token counting; beginning is the first part of its JSON object.
func EncodeCount(beginning string) func(dst []byte, r *llm.Reply) []byte {
	return func(dst []byte, r *llm.Reply) []byte {
		return append(rawjson.AppendCount(dst, beginning, r.Counted), '}')
	}
}

// Counts reports whether the wire format has the counter.
func (d *Dialect) Counts(way *Counter) bool {
	for _, c := range d.Counters {
		if c.Name == way.Name {
			return true
		}
	}
	return false
}

// Counter returns the counter of that name; nil for none.
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

// Counters returns the names of all counters.
func (s Set) Counters() (names []string) {
	for _, d := range s {
		for _, c := range d.Counters {
			names = append(names, c.Name)
		}
	}
	return names
}
