// Package callid gives tool calls ids that are unique in their conversation, and restores the provider's ids from
// them. Agents identify calls by their ids, so that they take a repeated id for a call that has already run. An id
// contains all its information, so any node can read it.
//
// An id is "call_w", ten letters and digits of the request's id, "_" and the call's position. If the provider's id
// says little more than a position, "_", two letters for the provider and the provider's own id follow. An id has
// only letters, digits, "_" and "-" and at most 40 characters, which every vendor accepts.
package callid

import (
	"encoding/binary"
	"strconv"
	"strings"

	"weir/internal/llm"
)

const (
	prefix = "call_w"
	// mostLength is the limit of OpenAI's Chat Completions, the lowest of all vendors.
	mostLength   = 40
	uniqueLength = 10
	originLength = 2
)

// Namer assigns the ids of one answer's tool calls.
type Namer struct {
	unique string // of the request
	origin string // of the provider
	used   map[string]bool
	named  int
	names  map[string]string
}

// NewNamer returns the Namer for a provider's answer to a request. before are the ids of calls in its conversation,
// and names the client's names of functions by the names sent to the provider.
func NewNamer(request [16]byte, provider string, before []string, names map[string]string) *Namer {
	used := make(map[string]bool, len(before))
	for _, id := range before {
		used[id] = true
	}
	return &Namer{
		unique: llm.Base62(binary.BigEndian.Uint64(request[8:]), uniqueLength), origin: origin(provider),
		used: used, names: names,
	}
}

// ID returns the id for a call of the named function: the provider's own if it is unlikely to repeat, and otherwise a
// new one. madeUp says that the provider gave none.
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

// Reply assigns the ids of the calls in a whole answer.
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

// name returns the client's name of a function.
func (n *Namer) name(sent string) string {
	if name, is := n.names[sent]; is {
		return name
	}
	return sent
}

// Event assigns the id of the call that an event opens, if any.
func (n *Namer) Event(e *llm.Event) {
	e.Tool.Name = n.name(e.Tool.Name)
	if e.Tool.ID != "" {
		e.Tool.ID, e.Tool.MadeUp = n.ID(e.Tool.ID, e.Tool.Name, e.Tool.MadeUp), false
	}
}

// mostDigits is the most digits of a number that counts calls. Longer numbers count as random.
const mostDigits = 4

// isCounted reports whether an id has nothing that distinguishes calls of different answers: only the function's
// name, a number, or words followed by a number, such as "call_0" and "functions.get_weather:0".
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
		return false // a unique name, such as "x7"
	}
	return !strings.ContainsFunc(rest, func(r rune) bool {
		return r >= '0' && r <= '9' || r >= 'A' && r <= 'Z'
	}) && longestWord(rest) <= mostWord
}

// mostWord is the longest word before a number that does not count as random, such as "functions".
const mostWord = 9

func longestWord(s string) (longest int) {
	for word := range strings.FieldsFuncSeq(s, func(r rune) bool { return r < 'a' || r > 'z' }) {
		longest = max(longest, len(word))
	}
	return longest
}

// IsMadeUp reports whether the gateway created an id for a call without one.
func IsMadeUp(id string) bool {
	o, ok := read(id)
	return ok && o.provider == "" || IsPosition(id)
}

// IsPosition reports whether an id consists only of the call's position.
func IsPosition(id string) bool {
	rest, ok := strings.CutPrefix(id, "call_")
	return ok && rest != "" && strings.Trim(rest, "0123456789-") == ""
}

// own holds the contents of an id that the gateway created.
type own struct{ provider, shortened string }

func read(id string) (o own, ok bool) {
	rest, ok := strings.CutPrefix(id, prefix)
	if !ok || len(rest) < uniqueLength+2 || rest[uniqueLength] != '_' ||
		strings.Trim(rest[:uniqueLength], llm.Alphanumerics) != "" {
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

// given returns the provider's id for a call of the named function if the gateway replaced it.
func given(id, name, provider string) (string, bool) {
	if o, ok := read(id); ok && o.provider != "" && o.provider == origin(provider) {
		return lengthened(o.shortened, name)
	}
	return "", false
}
