package anthropic

import (
	"bytes"

	"weir/internal/dialect/proof"
	"weir/internal/rawjson"
)

// A source from another vendor has a mark in place of the encrypted text that only Anthropic can read, and the id of
// another vendor's search begins with a prefix. The gateway removes sources and searches with either before it sends a
// request to Anthropic.
const (
	sourceMark   = "weir1.source"
	searchPrefix = "srvtoolu_weir1_"
)

// hasSourceMark reports whether a body may have sources from another vendor.
func hasSourceMark(body []byte) bool {
	return bytes.Contains(body, []byte(sourceMark)) || bytes.Contains(body, []byte(searchPrefix))
}

// withoutSources returns a block of a message without sources from another vendor; nil if nothing is left.
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

// messageWithoutSources returns a message without sources from another vendor.
func messageWithoutSources(message []byte) []byte {
	return proof.EditMember(message, "content", withoutSources)
}
