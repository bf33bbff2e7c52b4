package toolloop

import (
	"bytes"
	"encoding/hex"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// responses is a request to the Responses API. Its items for MCP are those of
// https://platform.openai.com/docs/api-reference/responses/object (undated copy) and of the package openai 7.59.0 for
// Node (2026-11-24).
type responses struct {
	run    *run
	rest   []rawjson.Member // members of the request that pass unchanged
	asked  []byte           // tools as the client sent them
	tools  []byte           // list of tools for the model, without those of servers
	ours   []byte           // the functions for the model, each with a comma before it
	choice []byte           // tool_choice; nil for none
	input  [][]byte         // items for the model
	output [][]byte         // items for the client
	final  []byte           // the last answer

	written events
}

func (r *run) newResponses() (*responses, error) {
	t := &responses{run: r}
	body := r.request.Body
	var input []byte
	for m := range rawjson.Members(body) {
		switch m.Name() {
		case "tools":
			t.asked = m.Value
		case "input":
			input = m.Value
		case "tool_choice":
			t.choice = m.Value
		case "stream", "stream_options", "store":
		case "max_tool_calls":
			if n, ok := rawjson.AsInt(m.Value); ok && n > 0 {
				r.most = int(min(n, maxCalls))
			}
			t.rest = append(t.rest, m)
		default:
			t.rest = append(t.rest, m)
		}
	}
	if err := t.offer(); err != nil {
		return nil, err
	}
	t.choose()
	return t, t.readInput(input)
}

// offer reads the tools, and replaces servers by functions.
func (t *responses) offer() error {
	listed := map[string]bool{}
	for _, item := range rawjson.Elements(rawjson.Get(t.run.request.Body, "input")) {
		if rawjson.Text(rawjson.Get(item, "type")) == "mcp_list_tools" {
			listed[rawjson.Text(rawjson.Get(item, "server_label"))] = true
		}
	}
	for i, tool := range rawjson.Elements(t.asked) {
		if !isOurs(tool) {
			t.tools = append(rawjson.AppendComma(t.tools), tool...)
			continue
		}
		added, err := t.run.offer("tools["+strconv.Itoa(i)+"]", tool)
		if err != nil {
			return err
		}
		for _, f := range added {
			t.ours = append(append(t.ours, ','), functionTool(f)...)
		}
		if label := rawjson.Text(rawjson.Get(tool, "server_label")); !listed[label] {
			listed[label] = true
			t.output = append(t.output, listItem(label, added))
		}
	}
	return nil
}

// functionTool describes a tool of a server as a function.
func functionTool(f *function) []byte {
	b := rawjson.AppendString([]byte(`{"type":"function","name":`), f.name)
	if about := rawjson.Get(f.Definition, "description"); rawjson.KindOf(about) == rawjson.String {
		b = rawjson.AppendMember(b, "description", about)
	}
	return append(rawjson.AppendMember(b, "parameters", schemaOf(f)), `,"strict":false}`...)
}

func schemaOf(f *function) []byte {
	if schema := rawjson.Get(f.Definition, "inputSchema"); rawjson.KindOf(schema) == rawjson.Object {
		return schema
	}
	return []byte(`{"type":"object","properties":{}}`)
}

// listItem describes the tools of a server for the client.
func listItem(label string, functions []*function) []byte {
	b := rawjson.AppendString([]byte(`{"type":"mcp_list_tools","id":`), newID("mcpl_"))
	b = rawjson.AppendString(append(b, `,"server_label":`...), label)
	b = append(b, `,"tools":[`...)
	for _, f := range functions {
		b = rawjson.AppendString(append(rawjson.AppendComma(b), `{"name":`...), f.Name)
		b = rawjson.AppendMember(b, "input_schema", schemaOf(f))
		for _, name := range []string{"description", "annotations"} {
			value := rawjson.Get(f.Definition, name)
			if !rawjson.Present(value) {
				value = []byte("null")
			}
			b = rawjson.AppendMember(b, name, value)
		}
		b = append(b, '}')
	}
	return append(b, "]}"...)
}

// newID returns a new id of an item.
func newID(prefix string) string {
	id := uuid.Must(uuid.NewV7())
	return prefix + hex.EncodeToString(id[:])
}

// choose replaces a choice of a server or of one of its tools.
func (t *responses) choose() {
	if rawjson.Text(rawjson.Get(t.choice, "type")) != "mcp" {
		return
	}
	label, name := rawjson.Text(rawjson.Get(t.choice, "server_label")), rawjson.Text(rawjson.Get(t.choice, "name"))
	t.choice = []byte(`"required"`)
	if name != "" && slices.Contains(t.run.labels, label) {
		t.choice = append(rawjson.AppendString([]byte(`{"type":"function","name":`), functionName(label, name)), '}')
	}
}

// body returns the next request.
func (t *responses) body(last bool) []byte {
	b := rawjson.AppendMember([]byte(`{"stream":false,"store":false`), "input", listOf(t.input))
	tools := t.tools
	if !last {
		tools = append(slices.Clone(tools), t.ours...)
	}
	if len(tools) > 0 {
		b = append(append(append(b, `,"tools":[`...), bytes.TrimPrefix(tools, []byte(","))...), ']')
		if t.choice != nil {
			b = rawjson.AppendMember(b, "tool_choice", t.choice)
		}
	}
	for _, m := range t.rest {
		b = rawjson.AppendMember(b, m.Name(), m.Value)
	}
	return append(b, '}')
}

// listOf returns a list as JSON.
func listOf(elements [][]byte) []byte {
	b := []byte{'['}
	for _, e := range elements {
		b = append(rawjson.AppendComma(b), e...)
	}
	return append(b, ']')
}

// read adds the items of an answer.
func (t *responses) read(answer []byte) (calls []*call, clients bool, err error) {
	t.final = slices.Clone(answer)
	if kind := rawjson.Text(rawjson.Get(t.choice, "type")); kind == "function" || rawjson.Text(t.choice) == "required" {
		t.choice = nil // it is satisfied, and would be asked for in each round
	}
	for _, item := range rawjson.Elements(rawjson.Get(t.final, "output")) {
		kind := rawjson.Text(rawjson.Get(item, "type"))
		f := t.run.functions[rawjson.Text(rawjson.Get(item, "name"))]
		if kind != "function_call" || f == nil {
			clients = clients || kind == "function_call" || kind == "custom_tool_call"
			t.input, t.output = append(t.input, item), append(t.output, item)
			continue
		}
		c := &call{
			of: f, id: rawjson.Text(rawjson.Get(item, "call_id")), item: newID("mcp_"),
			arguments: []byte(rawjson.Text(rawjson.Get(item, "arguments"))),
		}
		calls = append(calls, c)
	}
	return calls, clients, nil
}

// add adds calls with their results, or asks for approvals.
func (t *responses) add(calls []*call) {
	for _, c := range calls {
		if !c.of.approved && c.approval == "" {
			t.output = append(t.output, t.approvalItem(c))
			continue
		}
		t.input = append(t.input, functionCall(c.id, c.of.name, string(c.arguments)))
		t.output = append(t.output, callItem(c))
	}
	for _, c := range calls {
		if c.of.approved || c.approval != "" {
			t.input = append(t.input, functionOutput(c.id, c.output))
		}
	}
}

func functionCall(id, name, arguments string) []byte {
	b := rawjson.AppendString([]byte(`{"type":"function_call","call_id":`), id)
	b = rawjson.AppendString(append(b, `,"name":`...), name)
	return append(rawjson.AppendString(append(b, `,"arguments":`...), arguments), '}')
}

func functionOutput(id, output string) []byte {
	b := rawjson.AppendString([]byte(`{"type":"function_call_output","call_id":`), id)
	return append(rawjson.AppendString(append(b, `,"output":`...), output), '}')
}

// callItem describes a call that was made for the client.
func callItem(c *call) []byte {
	b := rawjson.AppendString([]byte(`{"type":"mcp_call","id":`), c.item)
	b = rawjson.AppendString(append(b, `,"server_label":`...), c.of.label)
	b = rawjson.AppendString(append(b, `,"name":`...), c.of.Name)
	b = rawjson.AppendString(append(b, `,"arguments":`...), string(c.arguments))
	b = append(b, `,"approval_request_id":`...)
	if c.approval == "" {
		b = append(b, "null"...)
	} else {
		b = rawjson.AppendString(b, c.approval)
	}
	if c.failed {
		b = rawjson.AppendString(append(b, `,"status":"failed","output":null,"error":`...), c.output)
	} else {
		b = append(rawjson.AppendString(append(b, `,"status":"completed","output":`...), c.output), `,"error":null`...)
	}
	return append(b, '}')
}

func (t *responses) approvalItem(c *call) []byte {
	id := t.run.approvalOf(uuid.Must(uuid.NewV7()), c)
	b := rawjson.AppendString([]byte(`{"type":"mcp_approval_request","id":`), id)
	b = rawjson.AppendString(append(b, `,"server_label":`...), c.of.label)
	b = rawjson.AppendString(append(b, `,"name":`...), c.of.Name)
	return append(rawjson.AppendString(append(b, `,"arguments":`...), string(c.arguments)), '}')
}

// whole returns the last answer with the items and the usage of all.
func (t *responses) whole(u *usage, failed *llm.Error) []byte {
	b := []byte{'{'}
	status := []byte(`"completed"`)
	if given := rawjson.Get(t.final, "status"); rawjson.KindOf(given) == rawjson.String {
		status = given
	}
	for m := range rawjson.Members(t.final) {
		switch m.Name() {
		case "output", "usage", "tools", "store", "status", "error", "weir":
		default:
			b = rawjson.AppendMember(b, m.Name(), m.Value)
		}
	}
	if t.final == nil {
		b = append(rawjson.AppendString([]byte(`{"object":"response","id":`), newID("resp_")),
			`,"parallel_tool_calls":true,"tool_choice":"auto"`...)
		b = strconv.AppendInt(append(b, `,"created_at":`...), t.run.loop.o.Now().Unix(), 10)
	}
	problem := []byte("null")
	if failed != nil {
		status = []byte(`"failed"`)
		problem = append(rawjson.AppendString([]byte(`{"code":"server_error","message":`), failed.Message), '}')
	}
	b = rawjson.AppendMember(b, "status", status)
	b = rawjson.AppendMember(b, "error", problem)
	b = rawjson.AppendMember(b, "tools", t.asked)
	b = rawjson.AppendMember(append(b, `,"store":false`...), "output", listOf(t.output))
	if object := u.whole(); object != nil {
		b = rawjson.AppendMember(b, "usage", object)
	}
	return append(b, '}')
}
