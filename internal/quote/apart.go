package quote

import (
	"bytes"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// Apart is how much of a chat the target's provider charges for apart from tokens, by a fee
// that neither its price nor a reply tells: documents that it reads into text, as its model is
// not known to take them, and sound, unless it has a price by the second. A request that nobody here understands counts as one.
func (q *Quote) Apart() int64 {
	if !q.apartCounted {
		q.apart, q.apartCounted = q.countApart(), true
	}
	return q.apart
}

func (q *Quote) countApart() (n int64) {
	if q.Op.Op != llm.OpChat || !q.Quirks.ParsesDocuments && !q.Quirks.SoundApart || q.hasNoMedia() {
		return 0
	}
	sound := q.Price.Rates[llm.AudioIn]
	apart := map[llm.PartKind]bool{
		llm.PartDocument: q.Quirks.ParsesDocuments && !q.table.TakesDocuments(q.Target),
		// The rate of text stands in for none.
		llm.PartAudio: q.Quirks.SoundApart && !q.hearsBySecond() && (!sound.Known() || sound == q.Price.Rates[llm.Input]),
	}
	if !apart[llm.PartDocument] && !apart[llm.PartAudio] {
		return 0
	}
	tree, err := q.Source.Tree()
	if err != nil {
		return 1
	}
	for i := range tree.Messages {
		n += partsApart(tree.Messages[i].Parts, apart)
	}
	return n
}

// hasNoMedia says whether there is no file and no sound in a body that goes to the target as
// it came, which shows without its tree.
func (q *Quote) hasNoMedia() bool {
	if q.Spoken != q.Op {
		return false
	}
	for _, word := range []string{"file", "audio", `\u`} {
		if bytes.Contains(q.Body, []byte(word)) {
			return false
		}
	}
	return true
}

func partsApart(parts []llm.Part, apart map[llm.PartKind]bool) (n int64) {
	for i := range parts {
		p := &parts[i]
		switch {
		case apart[p.Kind], p.Kind == llm.PartOther && apart[llm.PartDocument] &&
			rawjson.Present(rawjson.Get(p.Raw, "file")):
			n++
		case p.Result != nil:
			n += partsApart(p.Result.Parts, apart)
		}
	}
	return n
}
