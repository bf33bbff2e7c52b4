package toolloop

import (
	"strconv"

	"weir/internal/rawjson"
)

// messageEvents writes the events of a message (https://docs.claude.com/en/docs/build-with-claude/streaming, undated
// copy).
type messageEvents struct {
	b     []byte
	begun bool
	index int // of the block
}

// write writes an event with members that begin with a comma.
func (e *messageEvents) write(kind, members string) {
	b := append(append(append(e.b, "event: "...), kind...), "\ndata: {\"type\":\""...)
	e.b = append(append(append(append(b, kind...), '"'), members...), "}\n\n"...)
}

// events returns the events of blocks that were added since the last call, and with the answer those up to the end.
func (t *messages) events(answer []byte) []byte {
	e := &t.written
	if e.b = nil; !e.begun {
		e.begun = true
		begun := []byte{'{'}
		for m := range rawjson.Members(t.final) {
			switch m.Name() {
			case "content", "stop_reason", "stop_sequence", "weir":
			default:
				begun = rawjson.AppendMember(begun, m.Name(), m.Value)
			}
		}
		begun = append(begun, `,"content":[],"stop_reason":null,"stop_sequence":null}`...)
		e.write("message_start", `,"message":`+string(begun))
	}
	for ; e.index < len(t.output); e.index++ {
		e.block(t.output[e.index])
	}
	if answer == nil {
		return e.b
	}
	member := func(name string) string {
		if v := rawjson.Get(answer, name); v != nil {
			return string(v)
		}
		return "null"
	}
	usage := ""
	if rawjson.Get(answer, "usage") != nil {
		usage = `,"usage":` + member("usage")
	}
	e.write("message_delta", `,"delta":{"stop_reason":`+member("stop_reason")+`,"stop_sequence":`+
		member("stop_sequence")+`}`+usage)
	e.write("message_stop", "")
	return e.b
}

// block writes the events of a block: its begin, its text, its end.
func (e *messageEvents) block(block []byte) {
	at := `,"index":` + strconv.Itoa(e.index)
	begun := block
	var deltas []string
	// moves moves a member of the block to an event.
	moves := func(name, kind, member string) {
		value := rawjson.Get(block, name)
		if !rawjson.Present(value) {
			return
		}
		empty := []byte(`""`)
		if rawjson.KindOf(value) == rawjson.Object {
			empty, value = []byte("{}"), rawjson.AppendString(nil, string(value))
		}
		begun = rawjson.Splice(nil, begun, rawjson.Set(begun, name, empty))
		deltas = append(deltas, `,"delta":{"type":"`+kind+`","`+member+`":`+string(value)+`}`)
	}
	switch rawjson.Text(rawjson.Get(block, "type")) {
	case "text":
		moves("text", "text_delta", "text")
	case "thinking":
		moves("thinking", "thinking_delta", "thinking")
		moves("signature", "signature_delta", "signature")
	case "tool_use", "mcp_tool_use":
		moves("input", "input_json_delta", "partial_json")
	}
	e.write("content_block_start", at+`,"content_block":`+string(begun))
	for _, delta := range deltas {
		e.write("content_block_delta", at+delta)
	}
	e.write("content_block_stop", at)
}
