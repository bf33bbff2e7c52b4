// Package callid gives tool calls ids that no other call of a conversation has, and finds again in such an id what the
// provider gave. Agents tell calls apart by their ids: one that comes again is taken for a call that has been
// run. All that is known of an id stands in it, so any node can read it.
//
// An id is "call_w", ten letters and digits of the request's id, "_" and the call's position. Where the provider gave an
// id that says little more than a position, "_", two letters for the provider and the provider's own id follow. It
// has letters, digits, "_" and "-" alone and at most 40 characters, which every vendor takes.
package callid

import (
	"encoding/binary"
	"strconv"
	"strings"

	"weir/internal/llm"
)

const (
	prefix = "call_w"
	// mostLength is what OpenAI takes in Chat Completions, which is less than others take.
	mostLength   = 40
	uniqueLength = 10
	originLength = 2
)

// Namer names the calls of one answer.
type Namer struct {
	unique string // of the request
	origin string // of the provider
	used   map[string]bool
	named  int
	names  map[string]string
}

// NewNamer makes the one of an answer that a provider gives to a request. Before are the ids of the calls of its
// conversation, and names the client's names of functions by those that the provider was sent in their place.
func NewNamer(request [16]byte, provider string, before []string, names map[string]string) *Namer {
	used := make(map[string]bool, len(before))
	for _, id := range before {
		used[id] = true
	}
	return &Namer{unique: llm.Base62(binary.BigEndian.Uint64(request[8:]), uniqueLength), origin: origin(provider), used: used, names: names}
}

// ID returns the id for a call of the function name: the provider's own where it is one of many, else another. MadeUp says
// that the provider gave none.
func (n *Namer) ID(id, name string, madeUp bool) string {
	if !madeUp && !n.used[id] && !isCounted(id, name) {
		n.used[id] = true
		return id
	}
	own := prefix + n.unique + "_" + strconv.Itoa(n.named)
	n.named++
	if !madeUp {
		if whole := own + "_" + n.origin + shortened(id, name); len(whole) <= mostLength {
			own = whole
		}
	}
	n.used[own] = true
	return own
}

// Reply names the calls of a whole answer.
func (n *Namer) Reply(r *llm.Reply) {
	for i := range r.Choices {
		parts := r.Choices[i].Message.Parts
		for j := range parts {
			if c := parts[j].Call; c != nil {
				c.ID, c.MadeUp = n.ID(c.ID, c.Name, c.MadeUp), false
				c.Name = n.name(c.Name)
			}
		}
	}
}

// name is the client's name of a function.
func (n *Namer) name(sent string) string {
	if name, is := n.names[sent]; is {
		return name
	}
	return sent
}

// Event names the call that an event opens, if it does.
func (n *Namer) Event(e *llm.Event) {
	e.Tool.Name = n.name(e.Tool.Name)
	if e.Tool.ID != "" {
		e.Tool.ID, e.Tool.MadeUp = n.ID(e.Tool.ID, e.Tool.Name, e.Tool.MadeUp), false
	}
}

// mostDigits are how many digits a number has at most that counts calls. More are taken for a random number.
const mostDigits = 4

// isCounted reports whether an id has nothing in it that sets one answer's call apart from another's: the name of the
// function, a number, or words and a number behind them, as "call_0" and "functions.get_weather:0" have.
func isCounted(id, name string) bool {
	if name != "" {
		id = strings.ReplaceAll(id, name, "")
	}
	rest := strings.TrimRight(id, "0123456789")
	digits := len(id) - len(rest)
	if digits == 0 || digits > mostDigits {
		return strings.Trim(id, "_-.:") == ""
	}
	if rest != "" && strings.IndexByte("_-.:", rest[len(rest)-1]) < 0 {
		return false // a name of its own, such as "x7"
	}
	return !strings.ContainsFunc(rest, func(r rune) bool {
		return r >= '0' && r <= '9' || r >= 'A' && r <= 'Z'
	}) && longestWord(rest) <= mostWord
}

// mostWord is how long a word without digits is at most that stands before a number, such as "functions". A longer one
// may be random.
const mostWord = 9

func longestWord(s string) (longest int) {
	for word := range strings.FieldsFuncSeq(s, func(r rune) bool { return r < 'a' || r > 'z' }) {
		longest = max(longest, len(word))
	}
	return longest
}

// IsMadeUp reports whether the gateway gave an id to a call that had none.
func IsMadeUp(id string) bool {
	o, ok := read(id)
	return ok && o.provider == "" || IsPosition(id)
}

// IsPosition reports whether an id is made of the call's position alone.
func IsPosition(id string) bool {
	rest, ok := strings.CutPrefix(id, "call_")
	return ok && rest != "" && strings.Trim(rest, "0123456789-") == ""
}

// own is what an id that the gateway made says.
type own struct{ provider, shortened string }

func read(id string) (o own, ok bool) {
	rest, ok := strings.CutPrefix(id, prefix)
	if !ok || len(rest) < uniqueLength+2 || rest[uniqueLength] != '_' || strings.Trim(rest[:uniqueLength], llm.Alphanumerics) != "" {
		return o, false
	}
	position, given, more := strings.Cut(rest[uniqueLength+1:], "_")
	switch {
	case position == "" || strings.Trim(position, "0123456789-") != "":
		return o, false
	case more && len(given) > originLength:
		return own{given[:originLength], given[originLength:]}, true
	}
	return o, !more
}

// given returns the id that the provider gave to a call of the function name, where the gateway made another of it.
func given(id, name, provider string) (string, bool) {
	if o, ok := read(id); ok && o.provider != "" && o.provider == origin(provider) {
		return lengthened(o.shortened, name)
	}
	return "", false
}
