// Package proof carries a vendor's signatures of its model's thinking through the wire formats of other vendors, so
// that they return only to that vendor in later requests: every vendor refuses signatures of another.
//
// A sealed signature is in a format's own field for signatures. It begins with a mark that no vendor's own signature
// has, because those are base64, which has no dot.
package proof

import (
	"bytes"
	"encoding/base64"
	"strconv"
	"strings"

	"weir/internal/llm"
)

// mark begins a sealed signature. Its six bytes are eight of base64.
const (
	mark       = "weir1."
	markBase64 = "d2VpcjEu"
)

// The object of a signature if it is not the thinking next to it.
const (
	// OfText is the text before it.
	OfText = "text"
	// OfCall is followed by the id of a tool call.
	OfCall = "call:"
)

// Proof is a signature with its maker.
type Proof struct {
	Maker               string // the wire format of the vendor; empty for unknown
	Of                  string // OfText, or OfCall and an id; empty for thinking
	Signature, Redacted string // as in llm.Part
}

// IsForeign reports whether a signature is known to be another wire format's than the given one.
func IsForeign(maker, format string) bool { return maker != "" && maker != format }

// Seal returns the signature as one string, without white space if its fields have none.
func Seal(p Proof) string {
	var b strings.Builder
	for _, s := range []string{
		mark, p.Maker, ".", strconv.Itoa(len(p.Of)), ".", strconv.Itoa(len(p.Signature)), ".",
		p.Of, p.Signature, p.Redacted,
	} {
		b.WriteString(s)
	}
	return b.String()
}

// SealPart seals the signature of a part of that kind.
func SealPart(p *llm.Part) string {
	return Seal(Proof{Maker: p.Maker, Signature: p.Signature, Redacted: p.Redacted})
}

// SealLoose seals the signature of a text or of a tool call so that it can be separate from it; empty for a part
// without one.
func SealLoose(p *llm.Part) string {
	switch {
	case p.Signature == "":
	case p.Kind == llm.PartText:
		return Seal(Proof{Maker: p.Maker, Of: OfText, Signature: p.Signature})
	case p.Kind == llm.PartToolCall:
		return Seal(Proof{Maker: p.Maker, Of: OfCall + p.Call.ID, Signature: p.Signature})
	}
	return ""
}

// IsSealed reports whether s may be a sealed signature.
func IsSealed(s string) bool { return strings.HasPrefix(s, mark) }

// Open reads a sealed signature; false for any other string.
func Open(s string) (p Proof, ok bool) {
	rest, ok := strings.CutPrefix(s, mark)
	if !ok {
		return p, false
	}
	fields := strings.SplitN(rest, ".", 4)
	if len(fields) != 4 {
		return p, false
	}
	of, err := strconv.Atoi(fields[1])
	if err != nil || of < 0 || of > len(fields[3]) {
		return p, false
	}
	p.Maker, p.Of, rest = fields[0], fields[3][:of], fields[3][of:]
	signature, err := strconv.Atoi(fields[2])
	if err != nil || signature < 0 || signature > len(rest) {
		return Proof{}, false
	}
	p.Signature, p.Redacted = rest[:signature], rest[signature:]
	return p, true
}

// Base64 encodes a sealed signature for a format whose signatures are bytes.
func Base64(sealed string) string { return base64.StdEncoding.EncodeToString([]byte(sealed)) }

// OpenBase64 reads a sealed signature in base64, in the standard alphabet.
func OpenBase64(s string) (p Proof, ok bool) {
	if !strings.HasPrefix(s, markBase64) {
		return p, false
	}
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return p, false
	}
	return Open(string(b))
}

// Within reports whether a body may contain a sealed signature, in base64 or not.
func Within(body []byte) bool {
	return bytes.Contains(body, []byte(mark)) || bytes.Contains(body, []byte(markBase64))
}

// Read opens the signature of thinking: a sealed one, or one of the given wire format. A sealed signature of another
// part is loose, and the thinking is then empty.
func Read(p *llm.Part, format string) (of Proof, loose bool) {
	sealed, ok := Open(p.Redacted)
	if !ok {
		sealed, ok = Open(p.Signature)
	}
	if !ok {
		p.Maker = format
		return Proof{}, false
	}
	p.Maker, p.Signature, p.Redacted = sealed.Maker, sealed.Signature, sealed.Redacted
	return sealed, sealed.Of != ""
}

// Loose is a signature that a client sent apart from the part that it signs, behind the first Behind parts of the
// message.
type Loose struct {
	Proof
	Behind int
}

// Attach adds loose signatures to their parts in the message, and drops those without a part. It takes linear time,
// because a client may send a hundred thousand of both.
func Attach(parts []llm.Part, loose []Loose) {
	if len(loose) == 0 {
		return
	}
	of := ownersIn(parts)
	for i := range loose {
		if p := of.find(&loose[i]); p != nil {
			p.Signature, p.Maker = loose[i].Signature, loose[i].Maker
		}
	}
}

// owners indexes the parts of a message that can have a signature.
type owners struct {
	calls map[string]*llm.Part // the first part with each id
	texts []*llm.Part          // the last text among that many leading parts
}

func ownersIn(parts []llm.Part) owners {
	o := owners{map[string]*llm.Part{}, make([]*llm.Part, 1, len(parts)+1)}
	for i := range parts {
		p, text := &parts[i], o.texts[i]
		switch p.Kind {
		case llm.PartText:
			text = p
		case llm.PartToolCall:
			if o.calls[p.Call.ID] == nil {
				o.calls[p.Call.ID] = p
			}
		}
		o.texts = append(o.texts, text)
	}
	return o
}

// find returns the part of a signature, or nil.
func (o *owners) find(l *Loose) *llm.Part {
	if id, isCall := strings.CutPrefix(l.Of, OfCall); isCall {
		return o.calls[id]
	}
	return o.texts[min(l.Behind, len(o.texts)-1)]
}
