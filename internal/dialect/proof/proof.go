// Package proof carries what a vendor signs of its model's thinking through the
// wire formats of others, so that it comes back to that vendor in later turns
// and to nobody else: every vendor refuses what another one has signed.
//
// A sealed proof stands where a format has a place for one of its own. It begins
// with a mark that no vendor's own proof begins with: those are base64, which
// has no dot.
package proof

import (
	"bytes"
	"encoding/base64"
	"strconv"
	"strings"

	"weir/internal/llm"
)

// mark begins a sealed proof. Its six bytes are eight of base64.
const (
	mark       = "weir1."
	markBase64 = "d2VpcjEu"
)

// What a proof belongs to, where that is not the thinking beside which it stands.
const (
	// OfText is the text before it.
	OfText = "text"
	// OfCall begins the words for a tool call, which its id ends.
	OfCall = "call:"
)

// Proof is what a vendor signed.
type Proof struct {
	Maker               string // the wire format of the vendor; empty for nobody known
	Of                  string // OfText, or OfCall and an id; empty for thinking
	Signature, Redacted string // as in llm.Part
}

// IsForeign reports whether the wire format of that name is not the one of whoever
// made a proof. Nobody known is nobody foreign.
func IsForeign(maker, format string) bool { return maker != "" && maker != format }

// Seal is the proof as one string without white space, if its parts have none.
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

// SealPart seals what is signed of a part of that kind.
func SealPart(p *llm.Part) string {
	return Seal(Proof{Maker: p.Maker, Signature: p.Signature, Redacted: p.Redacted})
}

// SealLoose seals the signature of a text or of a tool call, so that it can stand
// apart from it; empty for a part without one.
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

// IsSealed reports whether s may be a sealed proof.
func IsSealed(s string) bool { return strings.HasPrefix(s, mark) }

// Open reads a sealed proof. It reports false for what is none.
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

// Base64 is a sealed proof for a format whose proofs are bytes.
func Base64(sealed string) string { return base64.StdEncoding.EncodeToString([]byte(sealed)) }

// OpenBase64 reads a sealed proof in base64, in the standard alphabet.
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

// Within reports whether a body may hold a sealed proof, in base64 or not.
func Within(body []byte) bool {
	return bytes.Contains(body, []byte(mark)) || bytes.Contains(body, []byte(markBase64))
}

// Read opens what a thought has for its proof: a sealed one, or one of the wire
// format of that name. A sealed one that belongs to another part is loose, and
// leaves nothing of the thought.
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

// Loose is a proof of a part of a message that stood apart from it, behind so
// many of the parts.
type Loose struct {
	Proof
	Behind int
}

// Attach gives loose proofs to the parts of the message that they belong to.
// What belongs to none is left out. It looks at each part once: a client may
// send a hundred thousand of both.
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

// owners are the parts of a message that a proof can belong to.
type owners struct {
	calls map[string]*llm.Part // the first of each id
	texts []*llm.Part          // by the number of parts before: the last text of these
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

// find is the part that a proof belongs to, or nil.
func (o *owners) find(l *Loose) *llm.Part {
	if id, isCall := strings.CutPrefix(l.Of, OfCall); isCall {
		return o.calls[id]
	}
	return o.texts[min(l.Behind, len(o.texts)-1)]
}
