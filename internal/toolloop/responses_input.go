package toolloop

import (
	"slices"
	"strconv"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// approval is a client's answer to a request for an approval.
type approval struct {
	at      string // its place in the request
	request []byte // the item mcp_approval_request; nil if the input has none
	made    bool   // the call was made in an earlier request
}

// readInput reads the items of the request, and makes the calls that the client has approved.
func (t *responses) readInput(input []byte) error {
	if rawjson.KindOf(input) == rawjson.String {
		t.input = [][]byte{append(rawjson.AppendMember(nil, "content", input), `,"role":"user"}`...)}
		return nil
	}
	asked, made := map[string][]byte{}, map[string]bool{}
	for _, item := range rawjson.Elements(input) {
		switch rawjson.Text(rawjson.Get(item, "type")) {
		case "mcp_approval_request":
			asked[rawjson.Text(rawjson.Get(item, "id"))] = item
		case "mcp_call":
			made[rawjson.Text(rawjson.Get(item, "approval_request_id"))] = true
		}
	}
	for i, item := range rawjson.Elements(input) {
		label := rawjson.Text(rawjson.Get(item, "server_label"))
		isOurs := slices.Contains(t.run.labels, label)
		switch kind := rawjson.Text(rawjson.Get(item, "type")); {
		case kind == "mcp_list_tools" && isOurs, kind == "mcp_approval_request" && isOurs:
		case kind == "mcp_call" && isOurs:
			t.recall(item, label)
		case kind == "mcp_approval_response":
			id := rawjson.Text(rawjson.Get(item, "approval_request_id"))
			a := approval{"input[" + strconv.Itoa(i) + "].approval_request_id", asked[id], made[id]}
			if err := t.decideNext(item, id, &a); err != nil {
				return err
			}
		default:
			t.input = append(t.input, item)
		}
	}
	return nil
}

// decideNext follows a client's answer to a request for an approval, unless an earlier one has failed. An error after
// calls that were made ends the loop with their results: they cannot be made again.
func (t *responses) decideNext(item []byte, id string, a *approval) error {
	if t.run.broken != nil {
		return nil
	}
	err := t.decide(item, id, a)
	if err != nil && t.run.ran > 0 {
		t.run.broken = err
		return nil
	}
	return err
}

// recall adds a call of an earlier answer for the model.
func (t *responses) recall(item []byte, label string) {
	id := "call_" + rawjson.Text(rawjson.Get(item, "id"))
	name := functionName(label, rawjson.Text(rawjson.Get(item, "name")))
	output := rawjson.Text(rawjson.Get(item, "output"))
	if failure := rawjson.Get(item, "error"); rawjson.Present(failure) {
		if output = string(failure); rawjson.KindOf(failure) == rawjson.String {
			output = rawjson.Text(failure)
		}
	}
	t.input = append(t.input, functionCall(id, name, rawjson.Text(rawjson.Get(item, "arguments"))),
		functionOutput(id, output))
}

// decide follows a client's answer to a request for an approval.
func (t *responses) decide(item []byte, id string, a *approval) error {
	label := rawjson.Text(rawjson.Get(a.request, "server_label"))
	switch {
	case a.made:
		return nil
	case a.request == nil:
		return llm.Invalid(a.at, "The input does not have the request for this approval. The gateway stores no "+
			"answers that run tools of MCP servers: send the items of the answer, with mcp_approval_request, as input.")
	case !slices.Contains(t.run.labels, label): // the provider's
		t.input = append(t.input, a.request, item)
		return nil
	}
	f := t.run.functions[functionName(label, rawjson.Text(rawjson.Get(a.request, "name")))]
	if f == nil {
		return llm.Invalid(a.at,
			"The tool of this approval is not among the tools of the request. Send the same tools.")
	}
	c := &call{
		of: f, id: "call_" + id, item: newID("mcp_"), approval: id,
		arguments: []byte(rawjson.Text(rawjson.Get(a.request, "arguments"))),
	}
	if approves, _ := rawjson.AsBool(rawjson.Get(item, "approve")); !approves {
		c.output = "The user did not approve this call. " + rawjson.Text(rawjson.Get(item, "reason"))
		t.input = append(t.input, functionCall(c.id, f.name, string(c.arguments)), functionOutput(c.id, c.output))
		return nil
	}
	if err := t.run.admit(a.at, id, c); err != nil {
		return err
	}
	if err := t.run.execute(c); err != nil {
		return err
	}
	t.add([]*call{c})
	return nil
}
