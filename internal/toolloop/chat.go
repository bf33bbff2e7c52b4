package toolloop

import (
	"slices"
	"strconv"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// chat is a request to Chat Completions. The vendor runs no tools of MCP servers there, and so the format has no
// approvals and no place for calls: the client sees the model's last answer.
type chat struct {
	run      *run
	rest     []rawjson.Member
	tools    []byte // tools of the client
	ours     []byte // the functions for the model, each with a comma before it
	choice   []byte
	messages [][]byte
	final    []byte
}

func (r *run) newChat() (*chat, error) {
	t := &chat{run: r}
	var tools []byte
	for m := range rawjson.Members(r.request.Body) {
		switch m.Name() {
		case "tools":
			tools = m.Value
		case "messages":
			for _, message := range rawjson.Elements(m.Value) {
				t.messages = append(t.messages, message)
			}
		case "tool_choice":
			t.choice = m.Value
		case "stream", "stream_options":
		default:
			t.rest = append(t.rest, m)
		}
	}
	if n, _ := rawjson.AsInt(rawjson.Get(r.request.Body, "n")); n > 1 {
		return nil, llm.Invalid("n", "With tools of MCP servers an answer has one choice. Leave n out.")
	}
	for i, tool := range rawjson.Elements(tools) {
		at := "tools[" + strconv.Itoa(i) + "]"
		if !isOurs(tool) {
			t.tools = append(rawjson.AppendComma(t.tools), tool...)
			continue
		}
		added, err := r.offer(at, tool)
		if err != nil {
			return nil, err
		}
		for _, f := range added {
			if !f.approved {
				return nil, llm.Invalidf(at+".require_approval", "The tool %s needs an approval, and Chat Completions "+
					`has none. Set require_approval to "never", or use the Responses API.`, f.Name)
			}
			t.ours = append(append(t.ours, ','), chatTool(f)...)
		}
	}
	return t, nil
}

func chatTool(f *function) []byte {
	b := rawjson.AppendString([]byte(`{"type":"function","function":{"name":`), f.name)
	if about := rawjson.Get(f.Definition, "description"); rawjson.KindOf(about) == rawjson.String {
		b = rawjson.AppendMember(b, "description", about)
	}
	return append(rawjson.AppendMember(b, "parameters", schemaOf(f)), "}}"...)
}

func (t *chat) body(last bool) []byte {
	tools := t.tools
	if !last {
		tools = append(slices.Clone(tools), t.ours...)
	}
	b := rawjson.AppendMember([]byte(`{"stream":false`), "messages", listOf(t.messages))
	if len(tools) > 0 {
		if tools[0] == ',' {
			tools = tools[1:]
		}
		b = append(append(append(b, `,"tools":[`...), tools...), ']')
		if t.choice != nil {
			b = rawjson.AppendMember(b, "tool_choice", t.choice)
		}
	}
	for _, m := range t.rest {
		b = rawjson.AppendMember(b, m.Name(), m.Value)
	}
	return append(b, '}')
}

func (t *chat) read(answer []byte) (calls []*call, clients bool, err error) {
	t.final, t.choice = slices.Clone(answer), nil // a choice is satisfied, and would be asked for in each round
	var message []byte
	for _, choice := range rawjson.Elements(rawjson.Get(t.final, "choices")) {
		message = rawjson.Get(choice, "message")
		break
	}
	for _, c := range rawjson.Elements(rawjson.Get(message, "tool_calls")) {
		f := t.run.functions[rawjson.Text(rawjson.Get(c, "function", "name"))]
		if f == nil {
			clients = true
			continue
		}
		calls = append(calls, &call{
			of: f, id: rawjson.Text(rawjson.Get(c, "id")),
			arguments: []byte(rawjson.Text(rawjson.Get(c, "function", "arguments"))),
		})
	}
	if clients && len(calls) > 0 {
		return nil, true, llm.Errorf(llm.CodeProviderError, "The model called tools of MCP servers and functions of "+
			"the client at once, which Chat Completions cannot express. Send parallel_tool_calls: false, or use the "+
			"Responses API.")
	}
	if len(calls) > 0 {
		t.messages = append(t.messages, message)
	}
	return calls, clients, nil
}

func (t *chat) add(calls []*call) {
	for _, c := range calls {
		b := rawjson.AppendString([]byte(`{"role":"tool","tool_call_id":`), c.id)
		t.messages = append(t.messages, append(rawjson.AppendString(append(b, `,"content":`...), c.output), '}'))
	}
}

func (t *chat) whole(u *usage, failed *llm.Error) []byte {
	if failed != nil {
		return nil
	}
	b := []byte{'{'}
	for m := range rawjson.Members(t.final) {
		if !m.Is("usage") && !m.Is("weir") {
			b = rawjson.AppendMember(b, m.Name(), m.Value)
		}
	}
	if object := u.whole(); object != nil {
		b = rawjson.AppendMember(b, "usage", object)
	}
	return append(b, '}')
}

// events returns an answer as the chunks of a stream, and nothing before: the client sees only the last answer.
func (t *chat) events(answer []byte) []byte {
	if answer == nil {
		return nil
	}
	options := rawjson.Get(t.run.request.Body, "stream_options")
	head := []byte(`{"object":"chat.completion.chunk"`)
	for m := range rawjson.Members(answer) {
		if !m.Is("object") && !m.Is("choices") && !m.Is("usage") {
			head = rawjson.AppendMember(head, m.Name(), m.Value)
		}
	}
	var out []byte
	chunk := func(members string) {
		out = append(append(append(append(out, "data: "...), head...), members...), "}\n\n"...)
	}
	for _, choice := range rawjson.Elements(rawjson.Get(answer, "choices")) {
		delta := []byte{'{'}
		for m := range rawjson.Members(rawjson.Get(choice, "message")) {
			value := m.Value
			if m.Is("tool_calls") {
				value = indexed(value)
			}
			delta = rawjson.AppendMember(delta, m.Name(), value)
		}
		chunk(`,"choices":[{"index":0,"delta":` + string(delta) + `},"finish_reason":null}]`)
		reason := string(rawjson.Get(choice, "finish_reason"))
		chunk(`,"choices":[{"index":0,"delta":{},"finish_reason":` + reason + `}]`)
	}
	if wants, _ := rawjson.AsBool(rawjson.Get(options, "include_usage")); wants {
		if object := rawjson.Get(answer, "usage"); object != nil {
			chunk(`,"choices":[],"usage":` + string(object))
		}
	}
	return append(out, "data: [DONE]\n\n"...)
}

// indexed adds their indexes to the calls of a message, which those of a chunk have.
func indexed(calls []byte) []byte {
	b := []byte{'['}
	for i, c := range rawjson.Elements(calls) {
		index := rawjson.Set(c, "index", strconv.AppendInt(nil, int64(i), 10))
		b = rawjson.Splice(rawjson.AppendComma(b), c, index)
	}
	return append(b, ']')
}
