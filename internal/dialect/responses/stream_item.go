package responses

import (
	"weir/internal/dialect/proof"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// What is told in pieces, and said whole afterwards.
const (
	kindText = iota
	kindRefusal
	kindSummary
	kindThought
	numKinds
)

// eventKinds are the kinds of event in which it is passed on.
var eventKinds = [numKinds]llm.EventKind{llm.EventText, llm.EventRefusal, llm.EventReasoning, llm.EventReasoning}

const (
	// maxPieces bounds the parts that a stream may tell in pieces; of more, what
	// no delta told is passed over.
	maxPieces = 4096
	// maxCalls bounds the function calls that a stream may open; more are passed
	// over.
	maxCalls = 1024
	// maxItemID bounds the id of one, in bytes. Some vendors seal what they know of an item in
	// its id.
	maxItemID = 8 << 10
)

// told remembers a text by its length and its hash (FNV-1a), so that what
// follows on it in a longer one can be found without keeping it.
type told struct {
	length int
	hash   uint64
}

func (t *told) add(s string) {
	t.hash = hashOn(t.hash, s)
	t.length += len(s)
}

// rest is what the whole text says beyond what was told; nothing where the one
// does not begin with the other.
func (t *told) rest(whole string) string {
	if len(whole) <= t.length || hashOn(0, whole[:t.length]) != t.hash {
		return ""
	}
	return whole[t.length:]
}

// hashOn hashes on from h; 0 is the beginning.
func hashOn(h uint64, s string) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	h ^= offset
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * prime
	}
	return h ^ offset
}

// place is where a part stands: in which item, and where in it.
type place struct {
	kind          uint8
	output, index int64
}

func at(kind uint8, output, within []byte) place {
	return place{kind: kind, output: index(output), index: index(within)}
}

// index reads an index; 0 for what is none.
func index(v []byte) int64 {
	n, _ := rawjson.AsInt(v)
	return n
}

// piece is a part of which something was told.
type piece struct {
	at   place
	told told
	half string // of a character, with which it ended so far

	begin int // characters of the answer's text before it
	cited int // annotations so far
}

// piece is the part at that place, or nil where there are too many.
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
		open.told.add(s)
	} else {
		s = rawjson.Text(v)
	}
	return d.tell(dst, p.kind, s)
}

// whole appends what a text says beyond its deltas.
func (d *Decoder) whole(dst []llm.Event, p place, v []byte) []llm.Event {
	open := d.piece(p)
	if open == nil {
		return dst
	}
	rest := open.told.rest(rawjson.Text(v))
	open.told.add(rest)
	return d.tell(dst, p.kind, rest)
}

func (d *Decoder) tell(dst []llm.Event, kind uint8, s string) []llm.Event {
	if s == "" {
		return dst
	}
	d.told[kind].add(s)
	if kind == kindText {
		d.text.Add(s)
	}
	ev := llm.Event{Kind: eventKinds[kind], Text: s}
	if ev.Kind == llm.EventReasoning {
		ev.Maker = Name
	}
	return append(dst, ev)
}

// part appends what a whole content part says beyond its deltas.
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

// contentOf is the kind and the text of a content part; nil for what has none.
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

// item appends what a whole item says beyond what was told of it.
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

// secret appends a thought in encrypted form.
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

// rest appends what the whole answer says beyond all that was told. By then the
// items need not stand where the events said.
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
		dst = d.tell(dst, kind, d.told[kind].rest(string(texts[kind])))
	}
	return dst
}

// collect appends the texts of a message or a thought to those of their kind.
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
