package toolloop

import (
	"strconv"

	"weir/internal/rawjson"
)

// events returns the events of items that were added since the last call, after those that begin the response, and
// the last event with the answer; nil for none.
func (t *responses) events(answer []byte) []byte {
	e := &t.written
	if e.b = nil; !e.begun {
		e.begun = true
		begun := []byte{'{'}
		for m := range rawjson.Members(t.whole(&usage{}, nil)) {
			if !m.Is("output") && !m.Is("usage") && !m.Is("status") {
				begun = rawjson.AppendMember(begun, m.Name(), m.Value)
			}
		}
		begun = append(begun, `,"status":"in_progress","output":[],"usage":null}`...)
		e.write("response.created", `,"response":`+string(begun))
		e.write("response.in_progress", `,"response":`+string(begun))
	}
	for ; e.index < len(t.output); e.index++ {
		e.item(t.output[e.index])
	}
	if answer != nil {
		e.write("response."+rawjson.Text(rawjson.Get(answer, "status")), `,"response":`+string(answer))
	}
	return e.b
}

// events writes the events of a response (https://platform.openai.com/docs/api-reference/responses-streaming, undated
// copy).
type events struct {
	b        []byte
	begun    bool
	sequence int
	index    int // of the item
}

// write writes an event with members that begin with a comma.
func (e *events) write(kind, members string) {
	b := append(append(append(e.b, "event: "...), kind...), "\ndata: "...)
	b = rawjson.AppendString(append(b, `{"type":`...), kind)
	b = strconv.AppendInt(append(b, `,"sequence_number":`...), int64(e.sequence), 10)
	e.b = append(append(b, members...), "}\n\n"...)
	e.sequence++
}

// at writes an event about a part of an item, with members that begin with a comma.
func (e *events) at(kind string, item []byte, members string) {
	id := rawjson.AppendString(nil, rawjson.Text(rawjson.Get(item, "id")))
	e.write(kind, `,"output_index":`+strconv.Itoa(e.index)+`,"item_id":`+string(id)+members)
}

// item writes the events of an item.
func (e *events) item(item []byte) {
	place := `,"output_index":` + strconv.Itoa(e.index) + `,"item":`
	e.write("response.output_item.added", place+string(begunItem(item)))
	switch rawjson.Text(rawjson.Get(item, "type")) {
	case "message":
		e.message(item)
	case "mcp_list_tools":
		e.at("response.mcp_list_tools.in_progress", item, "")
		e.at("response.mcp_list_tools.completed", item, "")
	case "mcp_call":
		arguments := string(rawjson.Get(item, "arguments"))
		e.at("response.mcp_call.in_progress", item, "")
		e.at("response.mcp_call_arguments.delta", item, `,"delta":`+arguments)
		e.at("response.mcp_call_arguments.done", item, `,"arguments":`+arguments)
		e.at("response.mcp_call."+rawjson.Text(rawjson.Get(item, "status")), item, "")
	case "function_call":
		arguments := string(rawjson.Get(item, "arguments"))
		e.at("response.function_call_arguments.delta", item, `,"delta":`+arguments)
		e.at("response.function_call_arguments.done", item, `,"arguments":`+arguments)
	}
	e.write("response.output_item.done", place+string(item))
}

// begunItem returns an item without what its events add.
func begunItem(item []byte) []byte {
	switch rawjson.Text(rawjson.Get(item, "type")) {
	case "message", "mcp_call", "function_call", "mcp_list_tools":
	default:
		return item
	}
	b := []byte{'{'}
	for m := range rawjson.Members(item) {
		value := m.Value
		switch m.Name() {
		case "content", "tools":
			value = []byte("[]")
		case "arguments":
			value = []byte(`""`)
		case "output", "error":
			value = []byte("null")
		case "status":
			value = []byte(`"in_progress"`)
		}
		b = rawjson.AppendMember(b, m.Name(), value)
	}
	return append(b, '}')
}

// message writes the events of a message's parts.
func (e *events) message(item []byte) {
	for i, part := range rawjson.Elements(rawjson.Get(item, "content")) {
		at := `,"content_index":` + strconv.Itoa(i)
		kind, name := "output_text", "text"
		if rawjson.Text(rawjson.Get(part, "type")) == "refusal" {
			kind, name = "refusal", "refusal"
		}
		text := string(rawjson.Get(part, name))
		empty := rawjson.Splice(nil, part, rawjson.Set(part, name, []byte(`""`)))
		e.at("response.content_part.added", item, at+`,"part":`+string(empty))
		if kind == "output_text" {
			e.at("response.output_text.delta", item, at+`,"delta":`+text+`,"logprobs":[]`)
			e.at("response.output_text.done", item, at+`,"text":`+text+`,"logprobs":[]`)
		} else {
			e.at("response.refusal.delta", item, at+`,"delta":`+text)
			e.at("response.refusal.done", item, at+`,"refusal":`+text)
		}
		e.at("response.content_part.done", item, at+`,"part":`+string(part))
	}
}
