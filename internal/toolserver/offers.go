package toolserver

import (
	"encoding/json"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"weir/internal/llm"
	"weir/internal/mcp"
	"weir/internal/rawjson"
	"weir/internal/tool"
)

// offers returns a page of the list of prompts, resources or templates.
func (x *exchange) offers(kind mcp.Kind) (json.RawMessage, error) {
	all, err := x.server.o.Tools.Offers(x.r.Context(), x.caller(), kind)
	if err != nil {
		return nil, err
	}
	definitions := make([][]byte, len(all))
	for i := range all {
		definitions[i] = all[i].Definition
	}
	return x.page(string(kind), definitions)
}

// use gets a prompt, reads a resource, or completes an argument of one of them.
func (x *exchange) use() (json.RawMessage, error) {
	c := &tool.Call{
		Caller: x.caller(), Request: x.id, N: 1, Arrived: x.arrived, Span: x.trace, Method: x.message.Method,
		Params: x.message.Params,
	}
	var err error
	if c.Tool, err = x.used(c); err != nil {
		return nil, err
	}
	if c.Attribution, err = x.attribution(); err != nil {
		return nil, err
	}
	converse(x, c)
	result, err := x.server.o.Tools.Call(x.r.Context(), c)
	x.attempted = result != nil
	if err != nil {
		return nil, err
	}
	if c.Method == mcp.MethodResource && x.stateless() { // it may differ by key: no cache may share it
		ttl, _ := rawjson.AsInt(rawjson.Get(result.JSON, "ttlMs")) // 0 if absent
		return x.read(result.JSON, ttl)
	}
	return x.called(result.JSON)
}

// read returns the result of reading a resource.
func (x *exchange) read(result json.RawMessage, ttl int64) (json.RawMessage, error) {
	if kind := textAt(result, "resultType"); kind != "" && kind != "complete" {
		return x.called(result)
	}
	const hour = 3_600_000 // ms
	return x.withCaching(result, min(max(ttl, 0), hour)), nil
}

// offerMembers are the members of params that name what is used, or are passed to it. refMembers are those of a ref.
var (
	offerMembers = rawjson.Names{"name", "uri", "arguments", "ref", "argument", "context", "_meta"}
	refMembers   = rawjson.Names{"type", "name", "uri"}
)

// checkNames refuses an object that has one of the names twice or in another case: the server, which gets the object,
// could read another member than the one whose right is checked here.
func checkNames(object []byte, names rawjson.Names) error {
	var seen rawjson.Seen
	for m := range rawjson.Members(object) {
		if _, err := names.Find(m, &seen); err != nil {
			return &mcp.RPCError{Code: mcp.CodeParams, Message: err.Error()}
		}
	}
	return nil
}

// used returns the prompt or resource that the params name.
func (x *exchange) used(c *tool.Call) (*tool.Tool, error) {
	params, s := x.message.Params, x.server.o.Tools
	kind := c.Method
	if err := checkNames(params, offerMembers); err != nil {
		return nil, err
	}
	if kind == mcp.MethodComplete {
		params = rawjson.Get(params, "ref")
		if err := checkNames(params, refMembers); err != nil {
			return nil, err
		}
		kind = map[string]string{
			"ref/prompt": mcp.MethodPrompt, "ref/resource": mcp.MethodResource,
		}[textAt(params, "type")]
	}
	member := mcp.NamedBy(kind)
	name := textAt(params, member)
	if name == "" {
		return nil, &mcp.RPCError{
			Code: mcp.CodeParams, Message: "params needs the name of a prompt or the uri of a resource",
		}
	}
	x.tool = name
	if kind == mcp.MethodPrompt {
		return s.FindPrompt(x.r.Context(), c.Caller, name)
	}
	found, err := s.FindResource(x.r.Context(), c.Caller, name)
	if e, ok := errors.AsType[*llm.Error](err); ok && e.Code == llm.CodeNotFound {
		return nil, x.noResource(name, e)
	}
	return found, err
}

// maxAsked bounds the name of a tool in the list of refusals, in bytes, as names of models are bounded.
const maxAsked = 256

// asked returns the name by which a refusal is counted: as in the ledger the method, where no tool is called, because
// URIs would be names without number. It is empty for a name that no list should show.
func (x *exchange) asked() string {
	odd := func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }
	switch {
	case x.tool == "" || x.message.Method == mcp.MethodCall && (len(x.tool) > maxAsked ||
		strings.ContainsFunc(x.tool, odd)):
		return ""
	case x.message.Method != mcp.MethodCall:
		return x.message.Method
	}
	return x.tool
}

// noResource returns the error for a URI without a resource: the revisions before the stateless one have a code for it.
func (x *exchange) noResource(uri string, e *llm.Error) error {
	code := int64(mcp.CodeParams)
	if !x.stateless() {
		code = mcp.CodeNoResource
	}
	data, _ := json.Marshal(map[string]string{"uri": uri}) // of a text
	return &mcp.RPCError{Code: code, Message: e.Message, Data: data}
}
