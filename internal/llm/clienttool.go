package llm

// ToolKind is the kind of a tool that the client runs, as tool calls name it.
type ToolKind string

// The kinds of tool that some wire formats have in addition to plain functions.
const (
	ToolFunction   ToolKind = "function" // within a namespace
	ToolCustom     ToolKind = "custom"   // takes a text as its input
	ToolLocalShell ToolKind = "local_shell"
	ToolShell      ToolKind = "shell"
	ToolApplyPatch ToolKind = "apply_patch"
	ToolSearch     ToolKind = "tool_search"
	// ToolLegacy is a function of Chat Completions' deprecated "functions".
	ToolLegacy ToolKind = "function_call"
)

// ClientTool names a tool that the client runs, as the client defined it.
type ClientTool struct {
	Kind      ToolKind
	Namespace string // empty for none
	Name      string
}

// Called maps the functions that were sent to the provider back to the client's tools, and holds the client's
// documents. The zero value maps nothing.
type Called struct {
	tools map[string]ClientTool
	// Legacy says that all functions are from Chat Completions' deprecated "functions".
	Legacy bool
	// Documents are the request's documents, which the answer may cite.
	Documents Documents
}

// Of returns the tool that the function of that name stands for; false for a plain function.
func (c *Called) Of(function string) (ClientTool, bool) {
	switch {
	case c == nil || function == "":
		return ClientTool{}, false
	case c.Legacy:
		return ClientTool{Kind: ToolLegacy, Name: function}, true
	}
	t, is := c.tools[function]
	return t, is
}

// Add records that the function of that name stands for a tool.
func (c *Called) Add(function string, t ClientTool) {
	if c.tools == nil {
		c.tools = map[string]ClientTool{}
	}
	c.tools[function] = t
}

// Elsewhere holds the parts of a request that have another form in wire formats other than the client's.
type Elsewhere struct {
	Tools      []Tool // all of them, in place of the request's
	ToolChoice *ToolChoice
	OneCall    bool // an answer may have one tool call only
	// Effort replaces the request's effort; empty to leave it unchanged.
	Effort string
	// Called maps tool calls back to the client's tools.
	Called Called
	// Refused is the error for a tool that the client does not run; nil for none.
	Refused error
}

// PartElsewhere is the form of a part in wire formats other than the client's.
type PartElsewhere struct {
	Parts []Part
	// LeftOut names the omitted content, which is reported to the client; empty for none.
	LeftOut string
}

// HasTools reports whether the model may call tools.
func (r *Request) HasTools() bool {
	return len(r.Tools) > 0 || r.Elsewhere != nil && len(r.Elsewhere.Tools) > 0
}
