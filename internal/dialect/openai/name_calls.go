package openai

import (
	"weir/internal/dialect/proof"
	"weir/internal/rawjson"
)

// NameCalls gives calls without an id in a reply or a chunk of a stream the one that id returns for their choice, index
// and function name; "" for none. It returns data itself if nothing changes.
func NameCalls(data []byte, id func(choice, index int, name string) string) []byte {
	position := -1
	return proof.EditMember(data, "choices", func(choice []byte) []byte {
		position++
		at := position
		if n, ok := rawjson.AsInt(rawjson.Get(choice, "index")); ok && n >= 0 && n < maxChoices {
			at = int(n)
		}
		for _, member := range []string{"message", "delta"} {
			message := rawjson.Get(choice, member)
			if rawjson.KindOf(message) != rawjson.Object {
				continue
			}
			named := proof.EditMember(message, "tool_calls", func(call []byte) []byte { return nameCall(call, at, id) })
			if len(named) != len(message) {
				return rawjson.Splice(nil, choice, rawjson.Set(choice, member, named))
			}
		}
		return choice
	})
}

func nameCall(call []byte, choice int, id func(choice, index int, name string) string) []byte {
	c := readCall(call)
	if c.id != "" {
		return call
	}
	own := id(choice, c.index, c.name)
	if own == "" {
		return call
	}
	return rawjson.Splice(nil, call, rawjson.Set(call, "id", rawjson.AppendString(nil, own)))
}
