package responses

import (
	"cmp"
	"slices"
	"strings"

	"weir/internal/dialect/parse"
	"weir/internal/dialect/proof"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// turns builds messages from a list of items: a request's input, or a reply's output, which consists of assistant
// messages.
type turns struct {
	output   bool
	messages []llm.Message
	at       int  // of the item, as in llm.Message
	open     bool // the following items belong to the last message, an assistant's
	calls    int
	loose    []loose // by message

	tools     *clientTools   // of a request
	essential *llm.Essential // the first item that a translation must not drop
	effort    string         // of thinking, if an item changes it; empty for none
}

// loose holds signatures of parts of a message, by the message's number.
type loose struct {
	proofs  []proof.Loose
	message int
}

// end returns the messages after all items were read.
func (t *turns) end() []llm.Message {
	for _, l := range t.loose {
		if l.message < len(t.messages) {
			proof.Attach(t.messages[l.message].Parts, l.proofs)
		}
	}
	return t.messages
}

// thought adds thinking, or stores another vendor's signature that arrives in its place.
func (t *turns) thought(p llm.Part) {
	of, is := proof.Read(&p, Name)
	if !is {
		t.add(p)
		return
	}
	l, message := proof.Loose{Proof: of}, len(t.messages)
	if t.open {
		message--
		l.Behind = len(t.messages[message].Parts)
	}
	if n := len(t.loose); n == 0 || t.loose[n-1].message != message {
		t.loose = append(t.loose, loose{message: message})
	}
	last := &t.loose[len(t.loose)-1]
	last.proofs = append(last.proofs, l)
}

// add appends parts of the assistant.
func (t *turns) add(parts ...llm.Part) {
	if !t.open {
		t.messages = append(t.messages, llm.Message{Role: llm.RoleAssistant, At: t.at})
		t.open = true
	}
	last := &t.messages[len(t.messages)-1]
	last.Parts = append(last.Parts, parts...)
}

// message appends a separate message.
func (t *turns) message(m llm.Message) {
	m.At = t.at
	t.messages = append(t.messages, m)
	t.open = false
}

// item reads one item. Errors are *llm.Error.
func (t *turns) item(v []byte, param string) error {
	if rawjson.KindOf(v) != rawjson.Object {
		return llm.Invalid(param, `An item must be an object such as {"role": "user", "content": "Hello"}.`)
	}
	kind := rawjson.Text(rawjson.Get(v, "type"))
	if kind == "" && rawjson.Present(rawjson.Get(v, "role")) {
		kind = itemMessage
	}
	switch kind {
	case itemMessage:
		return t.said(v, param)
	case itemReasoning:
		t.thought(decodeReasoning(v))
	case itemCall:
		call := decodeCall(v, t.calls)
		if call.Name == "" {
			return llm.Invalid(param+".name", "The function call has no name. Set name to a non-empty string.")
		}
		t.calls++
		t.add(t.called(call))
	case itemResult:
		if !t.output {
			return t.result(v, param)
		}
		return t.other(kind, v, param)
	default:
		if t.output {
			if p := picture(v); p != nil {
				t.add(llm.Part{Kind: llm.PartImage, Media: p, Raw: v})
				return nil
			}
		}
		return t.other(kind, v, param)
	}
	return nil
}

// called returns the part of a function call. A call within a namespace has another name in other formats.
func (t *turns) called(call *llm.ToolCall) llm.Part {
	p := llm.Part{Kind: llm.PartToolCall, Call: call}
	if namespace := rawjson.Text(field(call.Extra, "namespace")); namespace != "" && !t.output {
		other := *call
		other.Name = t.tools.function(llm.ClientTool{Kind: llm.ToolFunction, Namespace: namespace, Name: call.Name})
		other.Extra = slices.DeleteFunc(slices.Clone(call.Extra),
			func(f llm.Field) bool { return f.Name == "namespace" })
		p.Elsewhere = parts(llm.Part{Kind: llm.PartToolCall, Call: &other})
	}
	return p
}

// picture returns the image of an item, or nil: https://platform.openai.com/docs/guides/tools-image-generation.
func picture(item []byte) *llm.Media {
	if rawjson.Text(rawjson.Get(item, "type")) != itemImage {
		return nil
	}
	data := rawjson.Text(rawjson.Get(item, "result"))
	if data == "" {
		return nil
	}
	return &llm.Media{MIME: "image/" + cmp.Or(rawjson.Text(rawjson.Get(item, "output_format")), "png"), Data: data}
}

// other stores an unmodelled item. Results for the model do not belong to the assistant.
func (t *turns) other(kind string, v []byte, param string) (err error) {
	p := llm.Part{Kind: llm.PartOther, Raw: v}
	if t.output {
		p = llm.Searched(search(v), v)
	}
	if !t.output {
		if p.Elsewhere, err = t.elsewhere(kind, v, param); err != nil {
			return err
		}
	}
	if strings.HasSuffix(kind, "_output") || strings.HasSuffix(kind, "_response") {
		t.message(llm.Message{Role: llm.RoleUser, Parts: []llm.Part{p}})
		return nil
	}
	t.add(p)
	return nil
}

// said reads a message.
func (t *turns) said(v []byte, param string) error {
	var content, role []byte
	var extra []llm.Field
	for m := range rawjson.Members(v) {
		switch string(m.Key()) {
		case "type":
		case "role":
			role = m.Value
		case "content":
			content = m.Value
		default:
			extra = parse.Extra(extra, m)
		}
	}
	m := llm.Message{Extra: extra, Role: t.role(role)}
	if m.Role == "" {
		return llm.Invalid(param+".role", `The role must be "system", "developer", "user" or "assistant".`)
	}
	var err error
	if rawjson.Present(content) || m.Role != llm.RoleAssistant {
		m.Parts, err = decodeContent(content, usualText(m.Role), param+".content")
	}
	switch {
	case err != nil:
		return err
	case m.Role == llm.RoleAssistant && len(m.Parts) > 0:
		t.spoke(m)
	default:
		t.message(m)
	}
	return nil
}

func (t *turns) role(v []byte) llm.Role {
	if t.output {
		return llm.RoleAssistant
	}
	switch rawjson.Text(v) {
	case "system", "developer":
		return llm.RoleSystem
	case "user":
		return llm.RoleUser
	case "assistant":
		return llm.RoleAssistant
	}
	return ""
}

// spoke appends a message of the assistant to the open message. Marks on its first part record its own fields, and the
// boundary between messages.
func (t *turns) spoke(m llm.Message) {
	again := false
	if t.open {
		before := t.messages[len(t.messages)-1].Parts
		again = len(before) > 0 && isContent(&before[len(before)-1])
	}
	if len(m.Extra) > 0 || again {
		first := &m.Parts[0]
		first.Extra = append(first.Extra, llm.Field{Name: markItem, Value: appendObject(nil, m.Extra)})
	}
	t.add(m.Parts...)
}

// isContent reports whether a part is content of a message, not an item of its own.
func isContent(p *llm.Part) bool {
	switch p.Kind {
	case llm.PartToolCall, llm.PartToolResult, llm.PartReasoning:
		return false
	case llm.PartOther:
		return field(p.Extra, markContent) != nil
	}
	return true
}

// field returns the value of an extra field, or nil.
func field(extra []llm.Field, name string) []byte {
	for _, f := range extra {
		if f.Name == name {
			return f.Value
		}
	}
	return nil
}

// decodeReasoning reads thinking: its text is the summary and the content. It also stores them unchanged if they are
// more than a summary of one piece.
func decodeReasoning(v []byte) llm.Part {
	p := llm.Part{Kind: llm.PartReasoning}
	var summary, content []byte
	for m := range rawjson.Members(v) {
		switch string(m.Key()) {
		case "type":
		case "id":
			p.Signature = rawjson.Text(m.Value)
		case "encrypted_content":
			p.Redacted = rawjson.Text(m.Value)
		case "summary":
			summary = m.Value
		case "content":
			content = m.Value
		default:
			p.Extra = parse.Extra(p.Extra, m)
		}
	}
	pieces := thoughts(thoughts(nil, summary), content)
	p.Text = strings.Join(pieces, "")
	if len(pieces) > 1 || rawjson.Present(content) {
		p.Extra = append(p.Extra, llm.Field{Name: "summary", Value: orEmpty(summary)})
	}
	if rawjson.Present(content) {
		p.Extra = append(p.Extra, llm.Field{Name: "content", Value: content})
	}
	return p
}

// thoughts returns the texts of a summary, or of a reasoning item's content.
func thoughts(list []string, v []byte) []string {
	for _, e := range rawjson.Elements(v) {
		list = append(list, rawjson.Text(rawjson.Get(e, "text")))
	}
	return list
}

func orEmpty(v []byte) []byte {
	if rawjson.Present(v) {
		return v
	}
	return []byte("[]")
}

// decodeCall reads a function call. A call without an id gets one by its position.
func decodeCall(v []byte, position int) *llm.ToolCall {
	c := &llm.ToolCall{}
	for m := range rawjson.Members(v) {
		switch string(m.Key()) {
		case "type":
		case "call_id":
			c.ID = rawjson.Text(m.Value)
		case "name":
			c.Name = rawjson.Text(m.Value)
		case "arguments":
			c.Arguments = parse.Arguments(m.Value)
		default:
			c.Extra = parse.Extra(c.Extra, m)
		}
	}
	if c.ID == "" {
		c.ID = rawjson.Text(field(c.Extra, "id"))
	}
	if c.ID == "" {
		c.ID, c.MadeUp = parse.CallID(position), true
	}
	return c
}

// result reads the result of a function.
func (t *turns) result(v []byte, param string) error {
	p := llm.Part{Kind: llm.PartToolResult, Result: &llm.ToolResult{}}
	var output []byte
	for m := range rawjson.Members(v) {
		switch string(m.Key()) {
		case "type":
		case "call_id":
			p.Result.CallID = rawjson.Text(m.Value)
		case "output":
			output = m.Value
		default:
			p.Extra = parse.Extra(p.Extra, m)
		}
	}
	var err error
	if p.Result.Parts, err = decodeContent(output, inputText, param+".output"); err != nil {
		return err
	}
	t.message(llm.Message{Role: llm.RoleTool, Parts: []llm.Part{p}})
	return nil
}
