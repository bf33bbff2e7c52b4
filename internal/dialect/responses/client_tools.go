package responses

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"weir/internal/dialect/clienttool"
	"weir/internal/dialect/compose"
	"weir/internal/dialect/openai"
	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// Types of input items that contain tools.
const (
	itemTools = "additional_tools"
	itemFound = "tool_search_output"
)

// clientTools holds the tools of a request as functions, for wire formats that have only functions.
type clientTools struct {
	clienttool.Names
	tools   []llm.Tool
	offered map[llm.ClientTool]bool
	unlike  bool // they differ from the request's list
	search  bool // the client searches for deferred tools

	refused error
}

// toolLists returns the lists of tools of a request with their places. The first one is decoded already.
func toolLists(decoded []llm.Tool, tools, input []byte) (lists []toolList) {
	lists = append(lists, toolList{decoded: decoded, tools: tools, at: "tools"})
	for i, v := range rawjson.Elements(input) {
		switch rawjson.Text(rawjson.Get(v, "type")) {
		case itemTools, itemFound:
			at := "input[" + strconv.Itoa(i) + "].tools"
			lists = append(lists, toolList{tools: rawjson.Get(v, "tools"), at: at, loaded: true})
		}
	}
	return lists
}

type toolList struct {
	decoded []llm.Tool
	tools   []byte
	at      string
	loaded  bool // deferred tools that were found
}

// search returns the web search that tool i is; nil for other tools.
func (l *toolList) search(i int, v []byte, at string) *llm.WebSearch {
	if i < len(l.decoded) {
		return l.decoded[i].Search
	}
	return openai.ToolWish(v, at)
}

// readTools reads the tools of a request, including those of its input. Plain functions keep their names.
func readTools(decoded []llm.Tool, tools, input []byte) *clientTools {
	c := &clientTools{offered: map[llm.ClientTool]bool{}}
	lists := toolLists(decoded, tools, input)
	if c.unlike = len(lists) > 1; !c.unlike && !hasOthers(tools) {
		return c
	}
	for _, l := range lists {
		c.keep(l.tools)
	}
	for _, l := range lists {
		for i, v := range rawjson.Elements(l.tools) {
			at := l.at + "[" + strconv.Itoa(i) + "]"
			if s := l.search(i, v, at); s != nil {
				c.tools = append(c.tools, llm.Tool{Raw: v, Search: s})
				continue
			}
			c.add(v, at, l.loaded)
		}
	}
	return c
}

// hasOthers reports whether some tools are not functions.
func hasOthers(tools []byte) bool {
	for _, v := range rawjson.Elements(tools) {
		if rawjson.Text(rawjson.Get(v, "type")) != "function" {
			return true
		}
	}
	return false
}

// keep reserves the names of plain functions, and notes a tool search of the client.
func (c *clientTools) keep(tools []byte) {
	for _, v := range rawjson.Elements(tools) {
		switch rawjson.Text(rawjson.Get(v, "type")) {
		case "function":
			c.Keep(rawjson.Text(rawjson.Get(v, "name")))
		case "tool_search":
			c.search = c.search || rawjson.Text(rawjson.Get(v, "execution")) == byClient
		}
	}
}

// add reads a tool other than a web search. It refuses tools that the client does not run.
func (c *clientTools) add(v []byte, at string, loaded bool) {
	kind := rawjson.Text(rawjson.Get(v, "type"))
	switch kind {
	case "namespace":
		c.unlike = true
		c.namespace(v, at, loaded)
	case "function", "custom":
		c.named(v, "", at, loaded)
	case "local_shell":
		c.offer(vendorsTool(llm.ToolLocalShell), clienttool.LocalShell)
	case "apply_patch":
		c.offer(vendorsTool(llm.ToolApplyPatch), clienttool.ApplyPatch)
	case "shell":
		if where := rawjson.Text(rawjson.Get(v, "environment", "type")); where != "" && where != "local" {
			c.refuse(v, at)
			return
		}
		c.offer(vendorsTool(llm.ToolShell), clienttool.Shell)
	case "tool_search":
		if rawjson.Text(rawjson.Get(v, "execution")) != byClient {
			c.refuse(v, at)
			return
		}
		c.offer(vendorsTool(llm.ToolSearch), func(name string) llm.Tool {
			schema := rawjson.Get(v, "parameters")
			if rawjson.KindOf(schema) != rawjson.Object {
				schema = nil
			}
			return clienttool.Search(name, rawjson.Text(rawjson.Get(v, "description")), schema)
		})
	default:
		c.refuse(v, at)
	}
}

// byClient marks a tool search that the client runs.
const byClient = "client"

// vendorsTool returns a tool whose name the vendor defines.
func vendorsTool(kind llm.ToolKind) llm.ClientTool {
	return llm.ClientTool{Kind: kind, Name: string(kind)}
}

func (c *clientTools) refuse(v []byte, at string) {
	if c.refused == nil {
		c.refused = compose.ForeignToolAt(v, at)
	}
}

// namespace reads the functions and custom tools of a namespace. The first one gets the namespace's description.
func (c *clientTools) namespace(v []byte, at string, loaded bool) {
	name, before := rawjson.Text(rawjson.Get(v, "name")), len(c.tools)
	for i, t := range rawjson.Elements(rawjson.Get(v, "tools")) {
		at := at + ".tools[" + strconv.Itoa(i) + "]"
		switch rawjson.Text(rawjson.Get(t, "type")) {
		case "function", "custom":
			c.named(t, name, at, loaded)
		default:
			c.refuse(t, at)
		}
	}
	if about := rawjson.Text(rawjson.Get(v, "description")); about != "" && len(c.tools) > before {
		first := &c.tools[before]
		first.Description = strings.TrimSpace("About all tools of " + name + ": " + about + "\n\n" + first.Description)
	}
}

// named reads a function or a custom tool. It does not offer deferred tools.
func (c *clientTools) named(v []byte, namespace, at string, loaded bool) {
	if waits, _ := rawjson.AsBool(rawjson.Get(v, "defer_loading")); waits && c.search && !loaded {
		c.unlike = true
		return
	}
	t := llm.ClientTool{
		Kind:      llm.ToolKind(rawjson.Text(rawjson.Get(v, "type"))),
		Namespace: namespace, Name: rawjson.Text(rawjson.Get(v, "name")),
	}
	if t.Name == "" {
		c.refused = cmp.Or[error](c.refused, llm.Invalid(at+".name", "The tool has no name. Set name to a non-empty "+
			"string."))
		return
	}
	c.offer(t, func(name string) llm.Tool {
		if t.Kind == llm.ToolCustom {
			return clienttool.TextTool(name, rawjson.Text(rawjson.Get(v, "description")), clienttool.Grammar{
				Syntax:     rawjson.Text(rawjson.Get(v, "format", "syntax")),
				Definition: rawjson.Text(rawjson.Get(v, "format", "definition")),
			})
		}
		f := decodeFunction(v)
		f.Name = name
		f.Extra = slices.DeleteFunc(f.Extra, func(f llm.Field) bool { return f.Name == "defer_loading" })
		return f
	})
}

// offer adds a tool as a function, once.
func (c *clientTools) offer(t llm.ClientTool, function func(name string) llm.Tool) {
	c.unlike = c.unlike || t.Kind != llm.ToolFunction
	if !c.offered[t] {
		c.offered[t] = true
		c.tools = append(c.tools, function(c.function(t)))
	}
}

// function returns the function name of a tool.
func (c *clientTools) function(t llm.ClientTool) string {
	if t.Kind == llm.ToolFunction && t.Namespace == "" {
		return t.Name
	}
	return c.Of(t)
}

// choice returns a tool choice by function names; nil if it names other tools.
func (c *clientTools) choice(v []byte) *llm.ToolChoice {
	if rawjson.Text(rawjson.Get(v, "type")) != "allowed_tools" {
		if name := c.chosen(v); name != "" {
			return &llm.ToolChoice{Mode: llm.ToolsNamed, Name: name}
		}
		return nil
	}
	choice := &llm.ToolChoice{Mode: llm.ToolMode(rawjson.Text(rawjson.Get(v, "mode")))}
	for _, t := range rawjson.Elements(rawjson.Get(v, "tools")) {
		name := c.chosen(t)
		if name == "" {
			return nil
		}
		choice.Allowed = append(choice.Allowed, name)
	}
	if choice.Allowed == nil || choice.Mode != llm.ToolsAuto && choice.Mode != llm.ToolsRequired {
		return nil
	}
	return choice
}

// chosen returns the name of the offered function that a choice names, or "".
func (c *clientTools) chosen(v []byte) string {
	t := llm.ClientTool{
		Kind:      llm.ToolKind(rawjson.Text(rawjson.Get(v, "type"))),
		Namespace: rawjson.Text(rawjson.Get(v, "namespace")), Name: rawjson.Text(rawjson.Get(v, "name")),
	}
	t.Name = cmp.Or(t.Name, string(t.Kind))
	if !c.offered[t] {
		return ""
	}
	return c.function(t)
}

// callCap bounds the calls of tools that the provider runs.
const callCap = "max_tool_calls"

// bound limits the searches to the cap on calls if the provider runs no other tools.
func (c *clientTools) bound(r *llm.Request) {
	isSearch := func(t llm.Tool) bool { return t.Search != nil }
	if c.refused != nil || !slices.ContainsFunc(c.tools, isSearch) {
		return
	}
	for _, f := range r.Extra {
		n, ok := rawjson.AsInt(f.Value)
		if f.Name != callCap || !ok || n <= 0 {
			continue
		}
		for i := range c.tools { // the request's list has the same searches
			if s := c.tools[i].Search; s != nil {
				s.MaxUses, s.Fields = n, []string{callCap}
			}
		}
		if r.Essential != nil && r.Essential.Param == callCap {
			r.Essential = nil
		}
	}
}

// elsewhere notes how other wire formats express the request's tools and tool choice.
func (c *clientTools) elsewhere(r *llm.Request, choice []byte, effort string) {
	e := &llm.Elsewhere{
		Tools: c.tools, ToolChoice: r.ToolChoice, Effort: effort, Called: c.Called, Refused: c.refused,
	}
	c.bound(r)
	switch {
	case c.unlike:
		r.Elsewhere = e
	case effort != "":
		e.Tools, e.Refused = r.Tools, nil // the unchanged list
		r.Elsewhere = e
	}
	switch {
	case c.unlike && rawjson.KindOf(choice) == rawjson.Object:
		if e.ToolChoice = c.choice(choice); e.ToolChoice == nil {
			essentials.Note(r, "tool_choice", choice)
		}
	case r.ToolChoice == nil && choice != nil:
		essentials.Note(r, "tool_choice", choice)
	default:
		parse.NoteAllowed(r, "tool_choice")
	}
	openai.AddWish(r)
}
