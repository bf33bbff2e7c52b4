package toolloop

import (
	"bytes"
	"slices"
	"strconv"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// messages is a request to Anthropic's Messages API. The vendor asks for no approvals there; its blocks of calls are
// those of https://docs.claude.com/en/docs/agents-and-tools/mcp-connector (undated copy).
type messages struct {
	run     *run
	rest    []rawjson.Member
	tools   []byte // tools of the client
	ours    []byte // the functions for the model, each with a comma before it
	choice  []byte
	history [][]byte // messages for the model
	output  [][]byte // blocks for the client
	final   []byte   // the last answer
	written messageEvents
}

func (r *run) newMessages() (*messages, error) {
	t := &messages{run: r}
	var tools, history []byte
	for m := range rawjson.Members(r.request.Body) {
		switch m.Name() {
		case "tools":
			tools = m.Value
		case "messages":
			history = m.Value
		case "tool_choice":
			t.choice = m.Value
		case "mcp_servers":
			if rawjson.HasElement(m.Value) {
				t.rest = append(t.rest, m)
			}
		case "stream":
		default:
			t.rest = append(t.rest, m)
		}
	}
	servers := serversIn(r.request.Body)
	for i, tool := range rawjson.Elements(tools) {
		label, ours := ourToolset(servers, tool)
		if !ours && !isOurs(tool) {
			t.tools = append(rawjson.AppendComma(t.tools), tool...)
			continue
		}
		if err := t.offer("tools["+strconv.Itoa(i)+"]", tool, label, ours); err != nil {
			return nil, err
		}
	}
	for _, message := range rawjson.Elements(history) {
		t.recall(message)
	}
	return t, nil
}

// serversIn returns the names of the servers in mcp_servers, which have addresses.
func serversIn(body []byte) map[string]bool {
	names := map[string]bool{}
	for _, server := range rawjson.Elements(rawjson.Get(body, "mcp_servers")) {
		names[rawjson.Text(rawjson.Get(server, "name"))] = true
	}
	return names
}

// ourToolset returns the name of the configured server that a toolset of the vendor's form refers to: one that is not
// among the servers with addresses.
func ourToolset(servers map[string]bool, tool []byte) (name string, ours bool) {
	if rawjson.Text(rawjson.Get(tool, "type")) != "mcp_toolset" {
		return "", false
	}
	name = rawjson.Text(rawjson.Get(tool, "mcp_server_name"))
	return name, name != "" && !servers[name]
}

// offer offers the tools of a server, in the vendor's form or in that of the other APIs.
func (t *messages) offer(at string, tool []byte, label string, toolset bool) (err error) {
	var added []*function
	if toolset {
		if err := checkServer(at, tool); err != nil {
			return err
		}
		isEnabled := newEnabled(tool)
		added, err = t.run.offerTools(at+".mcp_server_name", label, func(o *Tool) (bool, bool) {
			return isEnabled(o.Name), true
		})
	} else {
		if approval := rawjson.Get(tool, "require_approval"); rawjson.Present(approval) &&
			rawjson.Text(approval) != "never" {
			return llm.Invalid(at+".require_approval", "The Messages API has no approvals. Leave require_approval "+
				"out, or use the Responses API.")
		}
		approved := rawjson.Set(tool, "require_approval", []byte(`"never"`))
		added, err = t.run.offer(at, rawjson.Splice(nil, tool, approved))
	}
	for _, f := range added {
		t.ours = append(append(t.ours, ','), messagesTool(f)...)
	}
	return err
}

// newEnabled reads which tools a toolset has enabled: each by itself, or by default.
func newEnabled(toolset []byte) func(name string) bool {
	byDefault, given := rawjson.AsBool(rawjson.Get(toolset, "default_config", "enabled"))
	byDefault = byDefault || !given
	own := map[string]bool{}
	for m := range rawjson.Members(rawjson.Get(toolset, "configs")) {
		if enabled, given := rawjson.AsBool(rawjson.Get(m.Value, "enabled")); given {
			own[m.Name()] = enabled
		}
	}
	return func(name string) bool {
		if enabled, given := own[name]; given {
			return enabled
		}
		return byDefault
	}
}

func messagesTool(f *function) []byte {
	b := rawjson.AppendString([]byte(`{"name":`), f.name)
	if about := rawjson.Get(f.Definition, "description"); rawjson.KindOf(about) == rawjson.String {
		b = rawjson.AppendMember(b, "description", about)
	}
	return append(rawjson.AppendMember(b, "input_schema", schemaOf(f)), '}')
}

// recall adds a message for the model. A message of the assistant with calls of servers' tools becomes several,
// because a result of a function is a message of the user.
func (t *messages) recall(message []byte) {
	content := rawjson.Get(message, "content")
	if rawjson.KindOf(content) != rawjson.Array || !bytes.Contains(content, []byte(`"mcp_tool_`)) {
		t.history = append(t.history, message)
		return
	}
	var said, results [][]byte
	flush := func(role string, blocks *[][]byte) {
		if len(*blocks) > 0 {
			b := append(append([]byte(`{"role":"`), role...), '"')
			t.history = append(t.history, append(rawjson.AppendMember(b, "content", listOf(*blocks)), '}'))
			*blocks = nil
		}
	}
	for _, block := range rawjson.Elements(content) {
		label := rawjson.Text(rawjson.Get(block, "server_name"))
		switch kind := rawjson.Text(rawjson.Get(block, "type")); {
		case kind == "mcp_tool_use" && slices.Contains(t.run.labels, label):
			flush("user", &results)
			name := functionName(label, rawjson.Text(rawjson.Get(block, "name")))
			b := rawjson.AppendMember([]byte(`{"type":"tool_use"`), "id", rawjson.Get(block, "id"))
			b = rawjson.AppendMember(b, "name", rawjson.AppendString(nil, name))
			said = append(said, append(rawjson.AppendMember(b, "input", rawjson.Get(block, "input")), '}'))
		case kind == "mcp_tool_result" && len(t.run.labels) > 0:
			flush("assistant", &said)
			results = append(results, rawjson.Splice(nil, block, rawjson.Set(block, "type", []byte(`"tool_result"`))))
		default:
			flush("user", &results)
			said = append(said, block)
		}
	}
	flush("user", &results)
	flush(rawjson.Text(rawjson.Get(message, "role")), &said)
}

func (t *messages) body(last bool) []byte {
	b := rawjson.AppendMember([]byte(`{"stream":false`), "messages", listOf(t.history))
	tools := append(slices.Clone(t.tools), t.ours...) // Anthropic refuses calls in the history without their tools
	if len(tools) > 0 {
		b = append(append(append(b, `,"tools":[`...), bytes.TrimPrefix(tools, []byte(","))...), ']')
		switch {
		case last && len(t.tools) == 0:
			b = append(b, `,"tool_choice":{"type":"none"}`...)
		case t.choice != nil:
			b = rawjson.AppendMember(b, "tool_choice", t.choice)
		}
	}
	for _, m := range t.rest {
		b = rawjson.AppendMember(b, m.Name(), m.Value)
	}
	return append(b, '}')
}

func (t *messages) read(answer []byte) (calls []*call, clients bool, err error) {
	t.final, t.choice = slices.Clone(answer), nil // a choice is satisfied, and would be asked for in each round
	content := rawjson.Get(t.final, "content")
	for _, block := range rawjson.Elements(content) {
		f := t.run.functions[rawjson.Text(rawjson.Get(block, "name"))]
		kind := rawjson.Text(rawjson.Get(block, "type"))
		if kind == "tool_use" && f != nil {
			calls = append(calls, &call{
				of: f, id: rawjson.Text(rawjson.Get(block, "id")), item: newID("mcptoolu_"),
				arguments: rawjson.Get(block, "input"),
			})
			continue
		}
		clients = clients || kind == "tool_use"
		t.output = append(t.output, block)
	}
	if len(calls) > 0 {
		b := rawjson.AppendMember([]byte(`{"role":"assistant"`), "content", content)
		t.history = append(t.history, append(b, '}'))
	}
	return calls, clients, nil
}

func (t *messages) add(calls []*call) {
	var results [][]byte
	for _, c := range calls {
		text := append(rawjson.AppendString([]byte(`[{"type":"text","text":`), c.output), "}]"...)
		failed := strconv.AppendBool(nil, c.failed)
		b := rawjson.AppendString([]byte(`{"type":"tool_result","tool_use_id":`), c.id)
		rest := rawjson.AppendMember(rawjson.AppendMember([]byte{'{'}, "is_error", failed), "content", text)[1:]
		results = append(results, slices.Concat(b, []byte{','}, rest, []byte{'}'}))

		b = rawjson.AppendString([]byte(`{"type":"mcp_tool_use","id":`), c.item)
		b = rawjson.AppendString(append(b, `,"name":`...), c.of.Name)
		b = rawjson.AppendString(append(b, `,"server_name":`...), c.of.label)
		t.output = append(t.output, append(rawjson.AppendMember(b, "input", c.arguments), '}'))
		b = rawjson.AppendString([]byte(`{"type":"mcp_tool_result","tool_use_id":`), c.item)
		t.output = append(t.output, slices.Concat(b, []byte{','}, rest, []byte{'}'}))
	}
	if len(results) > 0 {
		b := rawjson.AppendMember([]byte(`{"role":"user"`), "content", listOf(results))
		t.history = append(t.history, append(b, '}'))
	}
}

func (t *messages) whole(u *usage, failed *llm.Error) []byte {
	if failed != nil {
		return nil
	}
	b := []byte{'{'}
	for m := range rawjson.Members(t.final) {
		switch m.Name() {
		case "content", "usage", "weir":
		default:
			b = rawjson.AppendMember(b, m.Name(), m.Value)
		}
	}
	b = rawjson.AppendMember(b, "content", listOf(t.output))
	if object := u.whole(); object != nil {
		b = rawjson.AppendMember(b, "usage", object)
	}
	return append(b, '}')
}
