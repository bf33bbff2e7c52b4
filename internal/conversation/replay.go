package conversation

import (
	"strings"

	"weir/internal/rawjson"
)

// Kinds of items.
const (
	kindMessage    = "message"
	kindReasoning  = "reasoning"
	kindCall       = "function_call"
	kindCustomCall = "custom_tool_call"
)

func kindOf(raw []byte) string { return rawjson.Text(rawjson.Get(raw, "type")) }

// idOf is the id that stands in an item.
func idOf(raw []byte) string { return rawjson.Text(rawjson.Get(raw, "id")) }

// replay is an answer's items as they may stand in the input of a later
// request, to whichever provider that goes.
//
// They stay as they are where all thinking can be handed back, which is how the
// vendor documents it. Thinking without its content, open or encrypted, is known
// only to a provider that has stored it; any other refuses it ("Item with id 'rs_…'
// not found"). It is left out, and with it all by which a provider would miss it
// ("… was provided without its required 'reasoning' item"): ids, and calls of the
// provider's own tools. Where the client is to answer a call by its id, the
// conversation is bound to that provider anyway, and all stays.
func replay(output []byte) []item {
	how := mannerOf(output)
	var list []item
	for _, v := range rawjson.Elements(output) {
		list = append(list, item{idOf(v), how.replay(v)})
	}
	return list
}

// manner is how the items of one answer are handed back.
type manner struct {
	lost  bool // some thinking has no content
	bound bool // some call is to be answered by its own id
}

func mannerOf(output []byte) (m manner) {
	for _, v := range rawjson.Elements(output) {
		switch kindOf(v) {
		case kindReasoning:
			m.lost = m.lost || thought(v) == nil
		case "computer_call", "local_shell_call", "shell_call", "apply_patch_call", "mcp_approval_request":
			m.bound = true
		}
	}
	return m
}

// replay is one item as it may be handed back; nil for none.
func (m manner) replay(v []byte) []byte {
	lost := m.lost && !m.bound
	switch kind := kindOf(v); kind {
	case kindReasoning:
		if t := thought(v); t != nil || lost {
			return t
		}
		return without(v, "status")
	case kindMessage:
		if lost || !strings.HasPrefix(idOf(v), "msg") {
			return plain(v)
		}
	case kindCall:
		if lost || !strings.HasPrefix(idOf(v), "fc") {
			return without(v, "id")
		}
	case kindCustomCall:
		if lost || !strings.HasPrefix(idOf(v), "ctc") {
			return without(v, "id")
		}
	case "web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call", "mcp_call":
		if lost {
			return nil
		}
	}
	return v
}

// without is an item without one of its members.
func without(v []byte, name string) []byte {
	if rawjson.Get(v, name) == nil {
		return v
	}
	return rawjson.Rewrite(v, func(n string) string {
		if n == name {
			return ""
		}
		return n
	})
}

// thought is a reasoning item that says all of itself, with nothing that is
// refused in an input; nil for one that does not. The vendor refuses a status,
// and open thinking beside the encrypted form of it.
func thought(v []byte) []byte {
	says := "content"
	if rawjson.Text(rawjson.Get(v, "encrypted_content")) != "" {
		says = "encrypted_content"
	} else if !rawjson.HasElement(rawjson.Get(v, "content")) {
		return nil
	}
	out := rawjson.Rewrite(v, func(n string) string {
		switch n {
		case "type", "id", "summary", says:
			return n
		}
		return ""
	})
	if rawjson.Get(out, "summary") == nil { // without which it is refused
		out = rawjson.Splice(nil, out, rawjson.Set(out, "summary", []byte("[]")))
	}
	return out
}

// plain is an assistant's message in the short form, which needs no id and is
// known to all.
func plain(v []byte) []byte {
	out := rawjson.Rewrite(v, func(n string) string {
		if n == "id" || n == "status" {
			return ""
		}
		return n
	})
	content := rawjson.Get(out, "content")
	var text strings.Builder
	for _, part := range rawjson.Elements(content) {
		if kindOf(part) != "output_text" {
			return out // a refusal has no short form
		}
		text.WriteString(rawjson.Text(rawjson.Get(part, "text")))
	}
	if rawjson.KindOf(content) != rawjson.Array {
		return out
	}
	return rawjson.Splice(nil, out, rawjson.Set(out, "content", rawjson.AppendString(nil, text.String())))
}
