package dashboard

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"weir/internal/admin"
	"weir/internal/llm"
	"weir/internal/people"
	"weir/internal/rawjson"
	"weir/internal/report"
	"weir/internal/tool"
)

// toolServersPath is the path of the pages of MCP servers.
const toolServersPath = "/operator/tools"

// toolDays is the number of days of which calls are counted, and mostToolRows bounds the tools on a page.
const toolDays, mostToolRows = 30, 1000

// toolServerHandlers serves the operators' pages of MCP servers.
type toolServerHandlers struct {
	site  *site
	admin *admin.Admin
}

// toolServersPage shows the servers.
type toolServersPage struct {
	Servers []toolServerRow
	Days    int
}

// toolServerRow shows a server with its calls.
type toolServerRow struct {
	admin.MCPServerView
	Href  string
	Badge Badge
	Calls toolCalls
}

// toolCalls has the calls of the last days as texts.
type toolCalls struct{ Calls, Errors, Cost string }

// toolServerPage shows a server with its tools.
type toolServerPage struct {
	Row      toolServerRow
	Tools    []toolRow
	Omitted  []Fact
	Days     int
	Hidden   int // tools that are not shown
	ListPath string
	Forget   Confirm
	Problems []Problem
}

// toolRow shows a tool.
type toolRow struct {
	admin.MCPToolView
	Href  string
	Badge Badge
	Calls toolCalls
}

// toolPage shows the definition of a tool, and the one that is held.
type toolPage struct {
	admin.MCPDefinitionView
	Path, ServerPath string
	// ApprovedText and HeldText are nil for none.
	ApprovedText, HeldText *Code
	Changes                []Change
	Problems               []Problem
}

func (h *toolServerHandlers) list(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	all, err := h.admin.MCP.Servers(r.Context())
	if err != nil {
		return err
	}
	used, err := h.used(r.Context(), report.UsesQuery{By: []report.Dimension{report.ByProvider}})
	if err != nil {
		return err
	}
	return h.site.show(w, r, v, page{name: "tool-servers", title: "Tools", data: toolServersPageOf(all, used)})
}

func toolServersPageOf(all []admin.MCPServerView, used map[string]report.Use) toolServersPage {
	p := toolServersPage{Days: toolDays}
	for i := range all {
		p.Servers = append(p.Servers, toolServerRowOf(&all[i], used))
	}
	return p
}

func toolServerRowOf(s *admin.MCPServerView, used map[string]report.Use) toolServerRow {
	row := toolServerRow{*s, toolServerPath(s.Name), Badge{"good", "Answers"}, toolCallsOf(used, tool.Prefix+s.Name)}
	switch {
	case s.Problem != "":
		row.Badge = Badge{"bad", "Unavailable"}
	case s.Held > 0:
		row.Badge = Badge{"warn", "Tools wait for approval"}
	}
	return row
}

// used returns the calls of the last days, by group.
func (h *toolServerHandlers) used(ctx context.Context, q report.UsesQuery) (map[string]report.Use, error) {
	now := h.site.now().UTC()
	q.All, q.Limit, q.Failed = true, mostToolRows, true
	q.From, q.To = now.AddDate(0, 0, 1-toolDays).Format(time.DateOnly), now.Format(time.DateOnly)
	found, err := h.admin.Reports.Uses(ctx, q)
	if err != nil {
		return nil, err
	}
	used := map[string]report.Use{}
	for i := range found.Uses {
		if u := &found.Uses[i]; len(u.Group) == 1 && u.Group[0] != nil {
			used[*u.Group[0]] = *u
		}
	}
	return used, nil
}

func toolCallsOf(used map[string]report.Use, name string) toolCalls {
	u, ok := used[name]
	if !ok {
		return toolCalls{}
	}
	c := toolCalls{Calls: number(u.Attempts), Cost: dollars(u.Cost)}
	if u.Errors > 0 {
		c.Errors = number(u.Errors)
	}
	return c
}

func toolServerPath(server string) string { return toolServersPath + "/" + url.PathEscape(server) }

func toolPath(server, name string) string { return toolServerPath(server) + "/" + url.PathEscape(name) }

func (h *toolServerHandlers) show(w http.ResponseWriter, r *http.Request, v *people.Visit, f *form) error {
	name := r.PathValue("server")
	all, err := h.admin.MCP.Servers(r.Context())
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(s admin.MCPServerView) bool { return s.Name == name })
	if i < 0 {
		return llm.Errorf(llm.CodeNotFound, "There is no MCP server of this name. The page Tools lists all.")
	}
	tools, err := h.admin.MCP.Tools(r.Context(), name)
	if err != nil {
		return err
	}
	used, err := h.used(r.Context(), report.UsesQuery{
		Provider: tool.Prefix + name, By: []report.Dimension{report.ByModel},
	})
	if err != nil {
		return err
	}
	p := toolServerPageOf(&all[i], tools, used)
	p.Problems = f.problems()
	return h.site.show(w, r, v, page{name: "tool-server", title: name, status: f.status(), data: p})
}

func toolServerPageOf(s *admin.MCPServerView, tools []admin.MCPToolView, used map[string]report.Use) toolServerPage {
	path := toolServerPath(s.Name)
	p := toolServerPage{
		Row: toolServerRowOf(s, nil), Days: toolDays, ListPath: toolServersPath,
		Forget: Confirm{
			Ident: "forget", Button: "Remove stored definitions", Object: "of " + s.Name,
			Title: "Remove the stored definitions?",
			Text: "Only those of tools that the server no longer lists. If such a tool returns, it counts as " +
				"a new one.",
			Action: path + "/forget", Verb: "Remove the definitions", Keep: "Keep them",
		},
	}
	slices.SortStableFunc(tools, func(a, b admin.MCPToolView) int {
		return rankOfTool(a.Status) - rankOfTool(b.Status)
	})
	p.Hidden = max(0, len(tools)-mostToolRows)
	for _, t := range tools[:len(tools)-p.Hidden] {
		p.Tools = append(p.Tools, toolRow{
			t, toolPath(t.Server, t.Tool), toolBadge(t.Status), toolCallsOf(used, tool.Prefix+t.Server+"/"+t.Tool),
		})
	}
	for _, name := range slices.Sorted(maps.Keys(s.Omitted)) {
		p.Omitted = append(p.Omitted, Fact{name, s.Omitted[name]})
	}
	return p
}

// rankOfTool returns the place of tools in the list: those that wait for somebody come first.
func rankOfTool(s tool.Status) int {
	return slices.Index([]tool.Status{tool.Held, tool.Allowed, tool.Hidden}, s)
}

func toolBadge(s tool.Status) Badge {
	switch s {
	case tool.Held:
		return Badge{"warn", "Waits for approval"}
	case tool.Allowed:
		return Badge{"good", "Allowed"}
	case tool.Hidden:
	}
	return Badge{"off", "Not allowed"}
}

func (h *toolServerHandlers) forget(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	server := r.PathValue("server")
	_, err := h.admin.MCP.Forget(r.Context(), v.By, server)
	if e := llm.AsError(err); err != nil && e.Code == llm.CodeProviderUnavailable {
		return h.show(w, r, v, &form{general: []string{e.Message}})
	}
	return (&form{}).followed(w, r, v, toolServerPath(server)+"?done=tools-forgotten", err, h.show)
}

func (h *toolServerHandlers) showTool(w http.ResponseWriter, r *http.Request, v *people.Visit, f *form) error {
	d, err := h.admin.MCP.Definition(r.Context(), r.PathValue("server"), r.PathValue("tool"))
	if err != nil {
		return err
	}
	p := toolPageOf(&d)
	p.Problems = f.problems()
	return h.site.show(w, r, v, page{name: "tool", title: d.Tool, status: f.status(), data: p})
}

func toolPageOf(d *admin.MCPDefinitionView) toolPage {
	p := toolPage{
		MCPDefinitionView: *d, Path: toolPath(d.Server, d.Tool), ServerPath: toolServerPath(d.Server),
		ApprovedText: definitionCode("approved", "Approved definition", d.Definition),
		HeldText:     definitionCode("held", "Definition that waits for approval", d.Held),
	}
	if p.ApprovedText != nil && p.HeldText != nil {
		p.Changes = definitionChanges(d.Definition, d.Held)
	}
	return p
}

// definitionCode returns a definition as a text to copy; nil for none.
func definitionCode(ident, label string, definition json.RawMessage) *Code {
	if definition == nil {
		return nil
	}
	return &Code{Ident: ident, Label: label, Text: indentedJSON(definition)}
}

// mostJSON bounds a text of JSON on a page, in bytes.
const mostJSON = 64 << 10

// indentedJSON returns the beginning of a JSON value, with a member a line if the value is short.
func indentedJSON(text []byte) string {
	shown := string(text[:min(len(text), mostJSON+1)])
	if len(text) <= mostJSON {
		shown = indented(text)
	}
	if len(shown) > mostJSON {
		return strings.ToValidUTF8(shown[:mostJSON], "") + "\n…"
	}
	return shown
}

// definitionChanges returns the members that differ between two definitions.
func definitionChanges(was, is json.RawMessage) (all []Change) {
	names := map[string]bool{}
	for _, definition := range []json.RawMessage{was, is} {
		for m := range rawjson.Members(definition) {
			names[m.Name()] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		c := Change{name, memberText(was, name), memberText(is, name)}
		if c.Was != c.Is {
			all = append(all, c)
		}
	}
	return all
}

// memberText returns a member of a definition for people; empty if there is none.
func memberText(definition json.RawMessage, name string) string {
	v := rawjson.Get(definition, name)
	switch {
	case v == nil:
		return ""
	case rawjson.KindOf(v) == rawjson.String:
		return rawjson.Text(v)
	}
	return indentedJSON(v)
}

// approve approves the definition that the visitor has read.
func (h *toolServerHandlers) approve(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	server, name := r.PathValue("server"), r.PathValue("tool")
	digest := r.PostForm.Get("digest")
	if digest == "" {
		return llm.Invalid("digest", "The form names no definition. Open the page of the tool, and approve what it "+
			"shows.")
	}
	err := h.admin.MCP.Approve(r.Context(), v.By, server, name, digest)
	if e := llm.AsError(err); err != nil && e.Code == llm.CodeConflict {
		return h.showTool(w, r, v, &form{
			general: []string{"The definition has changed again. Read it below, then approve it."},
		})
	}
	return goAfter(w, r, toolServerPath(server)+"?done=tool-approved", err)
}
