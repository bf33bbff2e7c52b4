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

// idOf returns the id in an item's JSON.
func idOf(raw []byte) string { return rawjson.Text(rawjson.Get(raw, "id")) }

// replay returns an answer's items in the form for the input of a later request, to any provider.
//
// They are unchanged if all reasoning can be sent back, as OpenAI documents it. Reasoning without content, open or
// encrypted, is known only to the provider that has stored it; others refuse it ("Item with id 'rs_…' not found"). It
// is left out, together with everything that makes a provider miss it ("… was provided without its required
// 'reasoning' item"): ids, and calls of the provider's own tools. If the client must answer a call by its id, the
// conversation is bound to that provider anyway, and all items are unchanged.
func replay(output []byte) []item {
	how := mannerOf(output)
	var list []item
	for _, v := range rawjson.Elements(output) {
		list = append(list, item{idOf(v), how.replay(v)})
	}
	return list
}

// manner says how the items of one answer are sent back.
type manner struct {
	lost  bool // some reasoning has no content
	bound bool // some call must be answered by its own id
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

// replay returns one item in the form to be sent back; nil for none.
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

// without returns an item without one of its members.
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

// thought returns a reasoning item with its complete content, without the members that OpenAI refuses in an input: a
// status, and open reasoning next to encrypted reasoning. It returns nil for an item without content.
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
	if rawjson.Get(out, "summary") == nil { // required
		out = rawjson.Splice(nil, out, rawjson.Set(out, "summary", []byte("[]")))
	}
	return out
}

// plain returns an assistant's message in the short form, which needs no id and which all providers know.
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
