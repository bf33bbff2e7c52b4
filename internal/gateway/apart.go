package gateway

import (
	"bytes"

	"weir/internal/llm"
	"weir/internal/rawjson"
	"weir/internal/route"
)

// countApart is how much of a chat the target's provider charges for apart from tokens, by
// a fee that neither its price nor a reply tells: documents that it reads into text, as its
// model is not known to take them, and sound. A request that nobody here understands counts
// as one.
func (c *call) countApart(t *route.Target) (n int64) {
	q := c.quirks(t)
	if c.op.Op != llm.OpChat || !q.ParsesDocuments && !q.SoundApart || c.hasNoMedia(t) {
		return 0
	}
	price := c.price(t)
	sound := price.Rates[llm.AudioIn]
	apart := map[llm.PartKind]bool{
		llm.PartDocument: q.ParsesDocuments && !c.table.TakesDocuments(t),
		// The rate of text stands in for none.
		llm.PartAudio: q.SoundApart && (!sound.Known() || sound == price.Rates[llm.Input]),
	}
	if !apart[llm.PartDocument] && !apart[llm.PartAudio] {
		return 0
	}
	tree, err := c.tree()
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
func (c *call) hasNoMedia(t *route.Target) bool {
	if c.spoken(t) != c.op {
		return false
	}
	for _, word := range []string{"file", "audio", `\u`} {
		if bytes.Contains(c.body, []byte(word)) {
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
