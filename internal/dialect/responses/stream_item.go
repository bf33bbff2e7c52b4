package responses

import (
	"weir/internal/dialect/proof"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// Kinds of text that arrives in pieces and is repeated whole.
const (
	kindText = iota
	kindRefusal
	kindSummary
	kindThought
	numKinds
)

// eventKinds maps these kinds to kinds of events.
var eventKinds = [numKinds]llm.EventKind{llm.EventText, llm.EventRefusal, llm.EventReasoning, llm.EventReasoning}

const (
	// maxPieces bounds the parts of a stream that arrive in pieces; of further ones, only the deltas are read.
	maxPieces = 4096
	// maxCalls bounds the function calls of a stream; further ones are ignored.
	maxCalls = 1024
	// maxItemID bounds an item's id, in bytes. Some vendors encrypt the data of an item into its id.
	maxItemID = 8 << 10
)

// prefix records the length and hash (FNV-1a) of a text, to find the remainder of a longer one without storing it.
type prefix struct {
	length int
	hash   uint64
}

func (t *prefix) add(s string) {
	t.hash = hashOn(t.hash, s)
	t.length += len(s)
}

// rest returns the part of the whole text after the recorded one; empty if the recorded text is not its prefix.
func (t *prefix) rest(whole string) string {
	if len(whole) <= t.length || hashOn(0, whole[:t.length]) != t.hash {
		return ""
	}
	return whole[t.length:]
}

// hashOn continues a hash from h; 0 is the start.
func hashOn(h uint64, s string) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	h ^= offset
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * prime
	}
	return h ^ offset
}

// place is the position of a part: its item, and the index in it.
type place struct {
	kind          uint8
	output, index int64
}

func at(kind uint8, output, within []byte) place {
	return place{kind: kind, output: index(output), index: index(within)}
}

// index reads an index; 0 for other values.
func index(v []byte) int64 {
	n, _ := rawjson.AsInt(v)
	return n
}

// piece is a part that has begun.
type piece struct {
	at     place
	prefix prefix
	half   string // an incomplete character at the end of the text so far

	begin int // characters of the answer's text before it
	cited int // annotations so far
}

// piece returns the part at that place, or nil if there are too many.
func (d *Decoder) piece(p place) *piece {
	for i := len(d.pieces) - 1; i >= 0; i-- {
		if d.pieces[i].at == p {
			return &d.pieces[i]
		}
	}
	if len(d.pieces) == maxPieces {
		return nil
	}
	d.pieces = append(d.pieces, piece{at: p, begin: d.text.Characters()})
	return &d.pieces[len(d.pieces)-1]
}

// delta appends a piece of a text.
func (d *Decoder) delta(dst []llm.Event, p place, v []byte) []llm.Event {
	s := ""
	if open := d.piece(p); open != nil {
		s, open.half, _ = rawjson.AsPiece(open.half, v)
		open.prefix.add(s)
	} else {
		s = rawjson.Text(v)
	}
	return d.tell(dst, p.kind, s)
}

// whole appends the part of a text that no delta had.
func (d *Decoder) whole(dst []llm.Event, p place, v []byte) []llm.Event {
	open := d.piece(p)
	if open == nil {
		return dst
	}
	rest := open.prefix.rest(rawjson.Text(v))
	open.prefix.add(rest)
	return d.tell(dst, p.kind, rest)
}

func (d *Decoder) tell(dst []llm.Event, kind uint8, s string) []llm.Event {
	if s == "" {
		return dst
	}
	d.prefixes[kind].add(s)
	if kind == kindText {
		d.text.Add(s)
	}
	ev := llm.Event{Kind: eventKinds[kind], Text: s}
	if ev.Kind == llm.EventReasoning {
		ev.Maker = Name
	}
	return append(dst, ev)
}

// part appends the part of a whole content part that no delta had.
func (d *Decoder) part(dst []llm.Event, output, within int64, v []byte) []llm.Event {
	kind, text := contentOf(v)
	if text == nil {
		return dst
	}
	dst = d.whole(dst, place{kind, output, within}, text)
	if kind != kindText {
		return dst
	}
	return d.annotations(dst, place{kind, output, within}, v)
}

// contentOf returns the kind and the text of a content part; nil if it has none.
func contentOf(v []byte) (kind uint8, text []byte) {
	switch string(word(rawjson.Get(v, "type"))) {
	case outputText:
		return kindText, rawjson.Get(v, "text")
	case "refusal":
		return kindRefusal, rawjson.Get(v, "refusal")
	case "reasoning_text":
		return kindThought, rawjson.Get(v, "text")
	}
	return 0, nil
}

// item appends the part of a whole item that was not reported yet.
func (d *Decoder) item(dst []llm.Event, output int64, v []byte) []llm.Event {
	kind := string(word(rawjson.Get(v, "type")))
	d.acts = d.acts || isAct(kind)
	switch kind {
	case itemMessage:
		for i, p := range rawjson.Elements(rawjson.Get(v, "content")) {
			dst = d.part(dst, output, int64(i), p)
		}
	case itemReasoning:
		dst = d.thought(dst, output, v)
	case itemCall:
		dst = d.call(dst, output, v)
	default:
		d.tools.add(v)
		if kind != "" {
			dst = append(dst, llm.Event{Kind: llm.EventOther, Raw: v, RawOf: Name, Media: picture(v)})
			if s := search(v); s != nil {
				dst = append(dst, llm.Event{Kind: llm.EventSearch, Search: s, RawOf: Name})
			}
		}
	}
	return dst
}

func (d *Decoder) thought(dst []llm.Event, output int64, v []byte) []llm.Event {
	for i, p := range rawjson.Elements(rawjson.Get(v, "summary")) {
		dst = d.whole(dst, place{kindSummary, output, int64(i)}, rawjson.Get(p, "text"))
	}
	for i, p := range rawjson.Elements(rawjson.Get(v, "content")) {
		dst = d.whole(dst, place{kindThought, output, int64(i)}, rawjson.Get(p, "text"))
	}
	if secret := secretOf(v); secret != "" {
		dst = d.secret(dst, v, secret)
	}
	return dst
}

func secretOf(v []byte) string { return rawjson.Text(rawjson.Get(v, "encrypted_content")) }

// secret appends encrypted thinking.
func (d *Decoder) secret(dst []llm.Event, v []byte, secret string) []llm.Event {
	d.secrets++
	ev := llm.Event{
		Kind: llm.EventReasoning, Redacted: secret, Signature: rawjson.Text(rawjson.Get(v, "id")),
		Maker: Name,
	}
	if sealed, ok := proof.Open(secret); ok && sealed.Maker == Name {
		ev.Signature, ev.Redacted = sealed.Signature, sealed.Redacted
	}
	return append(dst, ev)
}

// rest appends the part of the whole answer that was not reported yet. Its items may have other positions than in the
// events.
func (d *Decoder) rest(dst []llm.Event, output []byte) []llm.Event {
	var texts [numKinds][]byte
	secrets, known := 0, d.secrets
	for i, v := range rawjson.Elements(output) {
		if string(word(rawjson.Get(v, "type"))) == itemCall {
			dst = d.call(dst, int64(i), v)
			continue
		}
		collect(&texts, v)
		if secret := secretOf(v); secret != "" {
			if secrets++; secrets > known {
				dst = d.secret(dst, v, secret)
			}
		}
	}
	for _, kind := range []uint8{kindSummary, kindThought, kindText, kindRefusal} {
		dst = d.tell(dst, kind, d.prefixes[kind].rest(string(texts[kind])))
	}
	return dst
}

// collect appends the texts of a message or of thinking to those of their kind.
func collect(texts *[numKinds][]byte, item []byte) {
	switch string(word(rawjson.Get(item, "type"))) {
	case itemMessage, itemReasoning:
	default:
		return
	}
	for _, p := range rawjson.Elements(rawjson.Get(item, "content")) {
		if kind, text := contentOf(p); text != nil {
			texts[kind] = append(texts[kind], rawjson.Text(text)...)
		}
	}
	for _, p := range rawjson.Elements(rawjson.Get(item, "summary")) {
		texts[kindSummary] = append(texts[kindSummary], rawjson.Text(rawjson.Get(p, "text"))...)
	}
}
