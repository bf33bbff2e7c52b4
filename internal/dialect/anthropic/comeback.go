package anthropic

import (
	"bytes"

	"weir/internal/dialect/proof"
	"weir/internal/rawjson"
)

// A source that another vendor named has a mark in place of the text that this one alone can read, and the id of a search
// of another vendor begins with that prefix. What comes back with either is never sent to the vendor.
const (
	sourceMark   = "weir1.source"
	searchPrefix = "srvtoolu_weir1_"
)

// hasSourceMark reports whether a body may have sources that another vendor named.
func hasSourceMark(body []byte) bool {
	return bytes.Contains(body, []byte(sourceMark)) || bytes.Contains(body, []byte(searchPrefix))
}

// withoutSources is a block of a message without the sources that another vendor named; nil where nothing is left of it.
func withoutSources(block []byte) []byte {
	switch rawjson.Text(rawjson.Get(block, "type")) {
	case serverToolUse:
		if isMadeUp(rawjson.Get(block, "id")) {
			return nil
		}
	case webSearchResult:
		if isMadeUp(rawjson.Get(block, "tool_use_id")) {
			return nil
		}
	case "text":
		citations := rawjson.Get(block, "citations")
		edited := proof.Edit(citations, func(c []byte) []byte {
			for _, name := range []string{"encrypted_index", "file_id"} {
				if rawjson.Text(rawjson.Get(c, name)) == sourceMark {
					return nil
				}
			}
			return c
		})
		switch {
		case len(edited) == len(citations):
		case string(edited) != "[]":
			return rawjson.Splice(nil, block, rawjson.Set(block, "citations", edited))
		case rawjson.Text(rawjson.Get(block, "text")) == "":
			return nil
		default:
			return rawjson.Splice(nil, block, rawjson.Set(block, "citations", []byte("null")))
		}
	}
	return block
}

func isMadeUp(id []byte) bool { return bytes.HasPrefix(id, []byte(`"`+searchPrefix)) }

// messageWithoutSources is a message without them.
func messageWithoutSources(message []byte) []byte {
	return proof.EditMember(message, "content", withoutSources)
}
