package toolserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"weir/internal/llm"
	"weir/internal/mcp"
	"weir/internal/rawjson"
	"weir/internal/tool"
)

// meta has the members of a request's _meta that the server reads.
type meta struct {
	revision     string
	capabilities []byte
	whole        []byte
}

func metaOf(params []byte) (m meta, err error) {
	if params == nil {
		return m, nil
	}
	if rawjson.KindOf(params) != rawjson.Object {
		return m, errors.New("params must be an object")
	}
	m.whole = rawjson.Get(params, "_meta")
	m.revision = textAt(m.whole, mcp.MetaRevision)
	if c := rawjson.Get(m.whole, mcp.MetaCapabilities); rawjson.KindOf(c) == rawjson.Object {
		m.capabilities = c
	}
	return m, nil
}

func textAt(object []byte, name string) string { return rawjson.Text(rawjson.Get(object, name)) }

// stateless reports whether the client speaks the revision without sessions.
func (x *exchange) stateless() bool { return x.revision >= mcp.Stateless }

// answer returns the result of the request.
func (x *exchange) answer() (json.RawMessage, error) {
	switch method := x.message.Method; {
	case method == mcp.MethodTools:
		return x.list()
	case method == mcp.MethodCall:
		return x.call()
	case method == mcp.MethodPrompt || method == mcp.MethodResource || method == mcp.MethodComplete:
		return x.use()
	case x.stateless() && method == mcp.MethodListen:
		return listen(x)
	case !x.stateless() && (method == mcp.MethodSubscribe || method == mcp.MethodUnsubscribe):
		return subscribe(x)
	case x.stateless() && method == mcp.MethodDiscover:
		return x.complete(x.about("supportedVersions", mcp.Revisions()), time.Hour), nil
	case !x.stateless() && method == mcp.MethodInitialize:
		return x.initialize()
	case !x.stateless() && (method == "ping" || method == "logging/setLevel"):
		return json.RawMessage("{}"), nil
	}
	for _, kind := range []mcp.Kind{mcp.Prompts, mcp.Resources, mcp.Templates} {
		if x.message.Method == kind.Method() {
			return x.offers(kind)
		}
	}
	return nil, x.unknown()
}

// unknown returns the error for another method.
func (x *exchange) unknown() error {
	e := &mcp.RPCError{Code: mcp.CodeMethod, Message: fmt.Sprintf("Method not found: %s", x.message.Method)}
	if x.stateless() {
		return status(http.StatusNotFound, e)
	}
	return e
}

// about describes the gateway.
func (x *exchange) about(versions string, of any) json.RawMessage {
	info := map[string]string{"name": "weir", "title": "Weir", "version": x.server.o.Version}
	type able map[string]bool
	about := map[string]any{
		versions: of, "capabilities": map[string]any{
			"tools": able{"listChanged": true}, "prompts": able{"listChanged": true},
			"resources": able{"listChanged": true, "subscribe": true}, "completions": able{}, "logging": able{},
		},
		"instructions": "Tools of several servers. The name of a tool begins with the name of its server.",
	}
	if x.stateless() {
		about["_meta"] = map[string]any{mcp.MetaServer: info}
	} else {
		about["serverInfo"] = info
	}
	text, _ := json.Marshal(about) // of texts
	return text
}

// initialize answers the first request of the revisions with sessions.
func (x *exchange) initialize() (json.RawMessage, error) {
	want := textAt(x.message.Params, "protocolVersion")
	if !mcp.Speaks(want) || want >= mcp.Stateless {
		want = mcp.Sessions
	}
	session := x.server.o.Ledger.NewID().String()
	if able := mcp.Abilities(rawjson.Get(x.message.Params, "capabilities")); able != "" {
		session += abilityMark + able
	}
	x.w.Header().Set(mcp.HeaderSession, session)
	return x.about("protocolVersion", want), nil
}

// complete adds the members that results of the latest revision have. What it may do depends on the key: no cache may
// share it.
func (x *exchange) complete(result json.RawMessage, ttl time.Duration) json.RawMessage {
	if !x.stateless() {
		return result
	}
	return x.withCaching(result, ttl.Milliseconds())
}

// withCaching adds the members about caching, in which ttl is in milliseconds.
func (x *exchange) withCaching(result json.RawMessage, ttl int64) json.RawMessage {
	edits := []struct{ name, value string }{
		{"cacheScope", `"private"`}, {"ttlMs", strconv.FormatInt(ttl, 10)}, {"resultType", `"complete"`},
	}
	for _, e := range edits {
		result = rawjson.Splice(nil, result, rawjson.Set(result, e.name, []byte(e.value)))
	}
	return result
}

const (
	// pageSize is the number of definitions in an answer.
	pageSize = 1000
	// listTTL is how long a client may use a list: as long as it takes for a change of the servers to be seen.
	listTTL = time.Minute
)

// caller returns who lists or calls tools.
func (x *exchange) caller() tool.Caller {
	return tool.Caller{Principal: x.principal, Bundle: x.r.PathValue("bundle")}
}

// list returns a page of the list of tools.
func (x *exchange) list() (json.RawMessage, error) {
	all, err := x.server.o.Tools.List(x.r.Context(), x.caller())
	if err != nil {
		return nil, err
	}
	definitions := make([][]byte, len(all))
	for i := range all {
		definitions[i] = all[i].Definition
	}
	return x.page("tools", definitions)
}

// page returns a page of a list.
func (x *exchange) page(name string, all [][]byte) (json.RawMessage, error) {
	from, err := 0, error(nil)
	if cursor := rawjson.Get(x.message.Params, "cursor"); rawjson.Present(cursor) {
		from, err = strconv.Atoi(rawjson.Text(cursor))
		if err != nil || from < 0 || from > len(all) {
			return nil, &mcp.RPCError{Code: mcp.CodeParams, Message: "The cursor is not one of this list."}
		}
	}
	page := all[from:min(len(all), from+pageSize)]
	size := 0
	for _, definition := range page {
		size += len(definition) + 1
	}
	text := make([]byte, 0, size+256)
	if x.stateless() {
		text = rawjson.AppendString(rawjson.AppendName(text, "cacheScope"), "private")
		text = strconv.AppendInt(rawjson.AppendName(text, "ttlMs"), listTTL.Milliseconds(), 10)
		text = rawjson.AppendString(rawjson.AppendName(text, "resultType"), "complete")
	}
	text = append(rawjson.AppendName(text, name), '[')
	for _, definition := range page {
		text = append(rawjson.AppendComma(text), definition...)
	}
	text = append(text, ']')
	if next := from + len(page); next < len(all) {
		text = rawjson.AppendString(rawjson.AppendName(text, "nextCursor"), strconv.Itoa(next))
	}
	return append(text, '}'), nil
}

// ownMembers are the members of a call's params that Weir reads. The others pass.
var ownMembers = rawjson.Names{"name", "arguments", "_meta"}

// call calls a tool.
func (x *exchange) call() (json.RawMessage, error) {
	c := &tool.Call{Caller: x.caller(), Request: x.id, N: 1, Arrived: x.arrived, Span: x.trace}
	var seen rawjson.Seen
	for m := range rawjson.Members(x.message.Params) {
		i, err := ownMembers.Find(m, &seen)
		switch {
		case err != nil:
			return nil, &mcp.RPCError{Code: mcp.CodeParams, Message: err.Error()}
		case i == 0:
			x.tool = rawjson.Text(m.Value)
		case i == 1 && rawjson.Present(m.Value):
			c.Arguments = m.Value
		case i == 2:
			c.Meta = m.Value
		case i < 0:
			c.Rest = rawjson.AppendMember(c.Rest, m.Name(), m.Value)
		}
	}
	if c.Rest != nil {
		c.Rest = append(c.Rest, '}')
	}
	if x.tool == "" || c.Arguments != nil && rawjson.KindOf(c.Arguments) != rawjson.Object {
		return nil, &mcp.RPCError{
			Code: mcp.CodeParams, Message: "params needs a name, and arguments that are an object",
		}
	}
	var err error
	if c.Tool, err = x.server.o.Tools.Find(x.r.Context(), c.Caller, x.tool); err != nil {
		return nil, err
	}
	if x.stateless() {
		if err := mcp.CheckParamHeaders(x.r.Header, c.Tool.Definition, c.Arguments); err != nil {
			return nil, mismatch(err.Error())
		}
	}
	if c.Attribution, err = x.attribution(); err != nil {
		return nil, err
	}
	if !x.stateless() {
		c.Meta = mcp.WithLogs(c.Meta)
	}
	converse(x, c)
	result, err := x.server.o.Tools.Call(x.r.Context(), c)
	x.attempted = result != nil
	if err != nil {
		return nil, err
	}
	return x.called(result.JSON)
}

// called returns the result of a call in the form of the client's revision.
func (x *exchange) called(result json.RawMessage) (json.RawMessage, error) {
	kind := textAt(result, "resultType")
	switch {
	case x.stateless() && kind == "":
		return rawjson.Splice(nil, result, rawjson.Set(result, "resultType", []byte(`"complete"`))), nil
	case !x.stateless() && kind != "" && kind != "complete":
		return nil, &mcp.RPCError{
			Code:    mcp.CodeInternal,
			Message: "The tool asks for input. That needs revision " + mcp.Stateless + " of the protocol.",
		}
	}
	return result, nil
}

// attribution returns the tags of the request: those of its header, and those of the key.
func (x *exchange) attribution() (a llm.Attribution, err error) {
	if lines := x.r.Header[llm.TagsHeader]; len(lines) > 0 {
		if a.Tags, err = llm.ParseTags(lines); err != nil {
			return a, err
		}
	}
	tags := &x.principal.Key().Tags
	for _, t := range tags.Defaults {
		if _, there := a.Tag(t.Name); there {
			continue
		}
		if !a.Put(t) {
			return a, llm.Invalidf(llm.TagsHeader, "This API key adds tags of its own. Send fewer tags.")
		}
	}
	for _, name := range tags.Required {
		if _, ok := a.Tag(name); !ok {
			return a, llm.Invalidf(llm.TagsHeader, "This API key requires the tag %q on every request. Send it, for "+
				"example as %s: %s=value.", name, llm.TagsHeader, name)
		}
	}
	return a, nil
}
