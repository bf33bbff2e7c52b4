package llm

// ToolKind is what a tool that the client runs is, in the words of the calls of it.
type ToolKind string

// The kinds of tool that some wire formats have beside functions.
const (
	ToolFunction   ToolKind = "function" // within a namespace
	ToolCustom     ToolKind = "custom"   // takes a text
	ToolLocalShell ToolKind = "local_shell"
	ToolShell      ToolKind = "shell"
	ToolApplyPatch ToolKind = "apply_patch"
	ToolSearch     ToolKind = "tool_search"
	// ToolLegacy is a function of Chat Completions from the time before tools.
	ToolLegacy ToolKind = "function_call"
)

// ClientTool is a tool that the client runs, as the client names it.
type ClientTool struct {
	Kind      ToolKind
	Namespace string // empty for none
	Name      string
}

// Called says what the client calls the tools that functions stand for, and its documents. The zero value has none.
type Called struct {
	tools map[string]ClientTool
	// Legacy is whether all functions are of Chat Completions' time before tools.
	Legacy bool
	// Documents are those of the request, which the answer may cite.
	Documents Documents
}

// Of is the tool that the function of that name stands for; false for a plain function.
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

// Add notes that the function of that name stands for a tool.
func (c *Called) Add(function string, t ClientTool) {
	if c.tools == nil {
		c.tools = map[string]ClientTool{}
	}
	c.tools[function] = t
}

// Elsewhere holds what wire formats other than the client's get of a request in another form.
type Elsewhere struct {
	Tools      []Tool // all of them, in place of the request's
	ToolChoice *ToolChoice
	OneCall    bool // an answer has room for one call
	// Effort replaces that of the request; empty for the request's own.
	Effort string
	// Called says how calls are named back.
	Called Called
	// Refused is the error of a tool that the client does not run; nil for none.
	Refused error
}

// PartElsewhere is a part in wire formats other than the client's.
type PartElsewhere struct {
	Parts []Part
	// LeftOut names what is left out and told; empty where nothing is.
	LeftOut string
}

// HasTools reports whether tools may be called.
func (r *Request) HasTools() bool {
	return len(r.Tools) > 0 || r.Elsewhere != nil && len(r.Elsewhere.Tools) > 0
}
