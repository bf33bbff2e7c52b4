package dashboard

import (
	"encoding/json"

	"weir/internal/admin"
	"weir/internal/llm"
	"weir/internal/people"
	"weir/internal/report"
	"weir/internal/tool"
)

// toolSamples shows the pages of tools: servers in each state, tools in each state, definitions, and calls.
func toolSamples() []sample {
	return append(toolServerSamples(), tryToolSamples()...)
}

func toolServerSamples() []sample {
	const path = toolServersPath + "/github"
	servers := []admin.MCPServerView{
		{Name: "github", URL: "https://mcp.example.com/mcp", Revision: "2026-07-28", Tools: 3, Allowed: 1, Held: 1, Prompts: 2, Resources: 4, Omitted: map[string]string{hostile: hostile}},
		{Name: "calm", URL: "https://calm.example.com/mcp", Revision: "2025-11-25", Tools: 1, Allowed: 1},
		{Name: "dead", URL: "https://dead.example.com/mcp", Problem: `The MCP server "dead" cannot be reached.` + hostile},
	}
	tools := []admin.MCPToolView{
		{Name: "github__search", Server: "github", Tool: "search", Status: tool.Allowed, Description: "Searches code."},
		{Name: "github__x", Server: "github", Tool: hostile, Status: tool.Held, Description: hostile},
		{Name: "github__secret", Server: "github", Tool: "secret", Status: tool.Hidden},
	}
	used := map[string]report.Use{
		"mcp.github":        {Attempts: 1234, Errors: 3, Cost: 5 * llm.USD},
		"mcp.github/search": {Attempts: 1234, Cost: 5 * llm.USD},
	}
	approved, held := json.RawMessage(`{"name":"search","description":"Searches code."}`), json.RawMessage(`{"name":"search","description":"Searches code, and sends it elsewhere.","annotations":{}}`)
	of := func(d *admin.MCPDefinitionView) page {
		d.Server, d.Tool = "github", "search"
		return page{name: "tool", title: "search", data: toolPageOf(d)}
	}
	again := toolPageOf(&admin.MCPDefinitionView{Server: "github", Tool: hostile, HeldDigest: "2", Held: held, Changed: &testTime})
	again.Problems = []Problem{{Text: "The definition has changed again. Read it below, then approve it."}}
	server := toolServerPageOf(&servers[0], tools, used)
	server.Hidden = 7
	return []sample{
		{"tool-servers", toolServersPath, "", page{name: "tool-servers", title: "Tools", data: toolServersPageOf(servers, used)}},
		{"tool-servers-none", toolServersPath, "", page{name: "tool-servers", title: "Tools", data: toolServersPageOf(nil, nil)}},
		{"tool-server", path, "", page{name: "tool-server", title: "github", data: server}},
		{"tool-server-dead", toolServersPath + "/dead", "", page{name: "tool-server", title: "dead", data: toolServerPageOf(&servers[2], nil, nil)}},
		{"tool", path + "/search", "", of(&admin.MCPDefinitionView{Definition: approved, Approved: &testTime})},
		{"tool-held", path + "/search", "", of(&admin.MCPDefinitionView{Definition: approved, Approved: &testTime, HeldDigest: "2", Held: held, Changed: &testTime})},
		{"tool-new", path + "/search", "", page{name: "tool", title: "search", status: 422, data: again}},
	}
}

func tryToolSamples() []sample {
	const base = "/accounts/acme"
	definition := []byte(`{"name":"github__search","description":"Searches code.","inputSchema":{"type":"object","required":["query","deep"],"properties":{
		"query":{"type":"string","description":"The text."},"deep":{"type":"boolean"},"most":{"type":"integer"},"score":{"type":"number"},
		"order":{"enum":["newest","oldest"]},"filter":{"type":"object"},"` + `<script>` + `":{"type":"string","description":"<img src=x onerror=alert(1)>"}}}}`)
	search, bare := tool.Tool{Name: "github__search", Definition: definition}, tool.Tool{Name: "github__now", Definition: []byte(`{"name":"github__now"}`)}
	show := func(p *tryPage) page { return page{name: "tool-try", title: p.Name, data: *p} }
	form1, whole := tryPageOf(base, &search, &form{}), tryPageOf(base, &bare, &form{})
	wrong := &form{values: map[string][]string{"a0": {""}, "a2": {"many"}}}
	argumentsOf(&search).read(wrong)
	refused := tryPageOf(base, &search, wrong)
	good, failed, none := form1, form1, form1
	good.Result = tryResultOf(&tool.Result{JSON: []byte(`{"content":[{"type":"text","text":"found"}]}`), Charge: new(llm.USD)}, nil)
	good.Result.Request = base + "/requests/019aa39e-51f1-7b3c-9d40-6a2f0c1e8b78"
	failed.Result = tryResultOf(&tool.Result{JSON: []byte(`{"content":[{"type":"text","text":"no such file"}],"isError":true}`), IsError: true}, nil)
	none.Result = tryResultOf(nil, llm.Errorf(llm.CodeBudgetExceeded, "The budget is used up."))
	list := toolsPage{Tools: []callableTool{{"github__search", base + "/tools/github__search", hostile, base + "/requests?model=x"}}, Hidden: 3, Silent: "tracker, " + hostile}
	return []sample{
		{"tools", base + "/tools", people.Owner, page{name: "tools", title: "Tools", data: list}},
		{"tools-none", base + "/tools", people.Owner, page{name: "tools", title: "Tools", data: toolsPage{}}},
		{"tool-try", base + "/tools/github__search", people.Owner, show(&form1)},
		{"tool-try-whole", base + "/tools/github__now", people.Owner, show(&whole)},
		{"tool-try-refused", base + "/tools/github__search", people.Owner, show(&refused)},
		{"tool-try-result", base + "/tools/github__search", people.Owner, show(&good)},
		{"tool-try-failed", base + "/tools/github__search", people.Owner, show(&failed)},
		{"tool-try-no-result", base + "/tools/github__search", people.Owner, show(&none)},
	}
}
