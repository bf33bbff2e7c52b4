package answercache

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"slices"
	"strings"
	"time"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// Header is the header by which a request asks for a stored answer, and by which an answer says where it comes from.
const Header = "X-Weir-Cache"

// SavedHeader is the header of a stored answer with the charge that it saved, in US dollars.
const SavedHeader = "X-Weir-Saved-USD"

// Off is the value of the header of a request that asks for no stored answer.
const Off = "off"

// The values of the header of an answer.
const (
	Hit    = "hit"    // a stored answer, or that of an equal request at the same time
	Miss   = "miss"   // a provider's answer, to a request whose answer may be stored
	Bypass = "bypass" // a provider's answer, to a request that asked for a stored one and must not have one
)

// Wish is what a request, a key or an alias asks for.
type Wish struct {
	MaxAge time.Duration // 0 for no stored answers
	Tools  bool          // also for a request with tools
}

// ParseWish parses the value of the request header: a duration such as 90s, 15m, 1h or 7d, or off; then optionally a
// semicolon and tools. The error is a *llm.Error.
func ParseWish(text string) (w Wish, err error) {
	age, more, has := strings.Cut(text, ";")
	age, more = strings.TrimSpace(age), strings.TrimSpace(more)
	if !has && age == Off {
		return w, nil
	}
	w.Tools = more == "tools"
	number, scale := age, time.Duration(1)
	if days, ok := strings.CutSuffix(age, "d"); ok {
		number, scale = days+"h", 24
	}
	w.MaxAge, err = time.ParseDuration(number)
	isAge := err == nil && w.MaxAge <= mostAge/scale
	if w.MaxAge *= scale; !isAge || w.MaxAge < time.Second || w.Tools != has {
		return Wish{}, llm.Invalidf(Header, "The header %s is %.40q. Send the greatest age of a stored answer, such "+
			"as 15m, 1h or 7d, or off; add \"; tools\" for a request with tools.", Header, text)
	}
	return w, nil
}

// mostAge bounds a wish, so that a number of days does not overflow.
const mostAge = 100 * 365 * 24 * time.Hour

// Hash hashes all parts of a request that determine its answer. Equal requests have equal hashes, in this form: the
// members of the body's object may be in any order, and white space between elements does not count. The order inside
// of members counts, because it may decide the answer: a model writes the fields of an object in the order of its
// schema (https://developers.openai.com/api/docs/guides/structured-outputs, "Key ordering", 2026-11-29).
type Hash struct{ sum hash.Hash }

// NewHash returns an empty hash.
func NewHash() *Hash { return &Hash{sha256.New()} }

// Text adds texts, each with its length.
func (h *Hash) Text(texts ...string) {
	for _, text := range texts {
		h.bytes([]byte(text))
	}
}

func (h *Hash) bytes(b []byte) {
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], uint64(len(b)))
	_, _ = h.sum.Write(n[:]) // a hash never returns an error
	_, _ = h.sum.Write(b)
}

// JSON adds a valid JSON object.
func (h *Hash) JSON(object []byte) {
	type member struct{ name, value []byte }
	var all []member
	for m := range rawjson.Members(object) {
		all = append(all, member{bytes.Clone(m.Key()), m.Value})
	}
	slices.SortStableFunc(all, func(a, b member) int { return bytes.Compare(a.name, b.name) })
	for _, m := range all {
		h.bytes(m.name)
		h.compact(m.value)
	}
}

// compact adds a value without the white space between its elements, and a zero byte, which no value has.
func (h *Hash) compact(v []byte) {
	from, quoted := 0, false
	for i := 0; i < len(v); i++ {
		switch c := v[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case !quoted && (c == ' ' || c == '\n' || c == '\t' || c == '\r'):
			_, _ = h.sum.Write(v[from:i])
			from = i + 1
		}
	}
	_, _ = h.sum.Write(v[from:])
	_, _ = h.sum.Write([]byte{0})
}

// Key returns the hash in hexadecimal.
func (h *Hash) Key() string { return hex.EncodeToString(h.sum.Sum(nil)) }

// HasTools reports whether a body names tools, functions, servers of tools or a search: a model's answer may then
// depend on more than the request. It goes by the names of members, in all wire formats, and prefers to find too much.
func HasTools(object []byte) bool {
	for m := range rawjson.PresentMembers(object) {
		name := strings.ToLower(m.Name())
		for _, word := range [...]string{"tool", "function", "search", "mcp", "plugin", "connector", "code_exec"} {
			if strings.Contains(name, word) {
				return true
			}
		}
	}
	return false
}

// Bounded returns a wish within the policy.
func (p *Policy) Bounded(w Wish) Wish {
	return Wish{MaxAge: min(w.MaxAge, p.Longest), Tools: cmp.Or(w.Tools, p.Tools)}
}
