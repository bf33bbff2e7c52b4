package gateway

import (
	"bytes"

	"weir/internal/llm"
	"weir/internal/rawjson"
	"weir/internal/route"
)

// countParsed is how many documents of a chat the target's provider reads into text, as its
// model is not known to take them: for a fee that it does not tell. A request that nobody
// here understands counts as one.
func (c *call) countParsed(t *route.Target) (n int64) {
	if !c.quirks(t).ParsesDocuments || c.door.Op != llm.OpChat || c.table.TakesDocuments(t) || c.hasNoFile(t) {
		return 0
	}
	tree, err := c.tree()
	if err != nil {
		return 1
	}
	for i := range tree.Messages {
		n += documents(tree.Messages[i].Parts)
	}
	return n
}

// hasNoFile says whether there is no file in a body that goes to the target as it came,
// which shows without its tree.
func (c *call) hasNoFile(t *route.Target) bool {
	return c.spoken(t) == c.door && !bytes.Contains(c.body, []byte("file")) && !bytes.Contains(c.body, []byte(`\u`))
}

func documents(parts []llm.Part) (n int64) {
	for i := range parts {
		p := &parts[i]
		switch {
		case p.Kind == llm.PartDocument, p.Kind == llm.PartOther && rawjson.Present(rawjson.Get(p.Raw, "file")):
			n++
		case p.Result != nil:
			n += documents(p.Result.Parts)
		}
	}
	return n
}
