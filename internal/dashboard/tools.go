package dashboard

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"weir/internal/account"
	"weir/internal/llm"
	"weir/internal/people"
	"weir/internal/rawjson"
	"weir/internal/tool"
)

// Tools lists and calls tools of MCP servers for a caller.
type Tools struct {
	List func(context.Context, *account.Principal) ([]tool.Tool, error)
	// Silent returns the servers of the caller that do not answer, so that List lacks their tools.
	Silent func(*account.Principal) []string
	// Call calls a tool by its name, with arguments that are a JSON object. It returns the id of the request also with
	// an error, unless nothing was sent.
	Call func(ctx context.Context, p *account.Principal, name string, arguments json.RawMessage) (
		uuid.UUID, *tool.Result, error)
}

// toolHandlers serves the pages on which people try tools.
type toolHandlers struct {
	site     *site
	accounts *account.Service
	tools    Tools
}

// toolsPage lists the tools that the account may call.
type toolsPage struct {
	Tools  []callableTool
	Hidden int
	Silent string // names of the servers that do not answer
}

// callableTool is a tool that the account may call.
type callableTool struct{ Name, Href, About, Calls string }

// tryPage shows the form of a tool, and the result of its call.
type tryPage struct {
	Name, About    string
	Path, ListPath string
	Fields         []Field
	Result         *tryResult // nil before the call
	Problems       []Problem
}

// tryResult shows the result of a call.
type tryResult struct {
	Badge   Badge
	Problem string // of a call without a result; empty for none
	Cost    string // empty if it is unknown
	Request string // path of the request; empty if nothing was sent
	Texts   []Code
}

// caller returns the caller for the visitor's calls.
func (h *toolHandlers) caller(r *http.Request, v *people.Visit) (*account.Principal, error) {
	user := v.User()
	if user == nil {
		return nil, llm.Errorf(llm.CodeForbidden, "This page is for people who are signed in. Programs call tools at "+
			"/mcp with an API key.")
	}
	return h.accounts.Playground(r.Context(), v.By, v.Account, user.ID, account.Tools)
}

func (h *toolHandlers) list(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	who, all, err := h.all(r, v)
	if err != nil {
		return err
	}
	data := toolsPageOf(accountPath(v.Account.Name), all)
	data.Silent = strings.Join(h.tools.Silent(who), ", ")
	return h.site.show(w, r, v, page{name: "tools", title: "Tools", data: data})
}

func toolsPageOf(base string, all []tool.Tool) toolsPage {
	p := toolsPage{Hidden: max(0, len(all)-mostToolRows)}
	for i := range all[:len(all)-p.Hidden] {
		t := &all[i]
		calls := base + "/requests?model=" + url.QueryEscape(tool.Prefix+t.Server+"/"+t.Own())
		p.Tools = append(p.Tools, callableTool{t.Name, base + "/tools/" + url.PathEscape(t.Name), aboutTool(t), calls})
	}
	return p
}

// aboutTool returns the description of a tool, and at most 300 bytes of it.
func aboutTool(t *tool.Tool) string {
	const most = 300
	text := rawjson.Text(rawjson.Get(t.Definition, "description"))
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

func (h *toolHandlers) show(w http.ResponseWriter, r *http.Request, v *people.Visit, f *form) error {
	_, t, err := h.find(r, v)
	if err != nil {
		return err
	}
	return h.showTry(w, r, v, tryPageOf(accountPath(v.Account.Name), t, f), f)
}

func (h *toolHandlers) showTry(w http.ResponseWriter, r *http.Request, v *people.Visit, p tryPage, f *form) error {
	return h.site.show(w, r, v, page{name: "tool-try", title: p.Name, status: f.status(), data: p})
}

// all returns the caller for the visitor's calls and the tools that it may call.
func (h *toolHandlers) all(r *http.Request, v *people.Visit) (*account.Principal, []tool.Tool, error) {
	p, err := h.caller(r, v)
	if err != nil {
		return nil, nil, err
	}
	all, err := h.tools.List(r.Context(), p)
	return p, all, err
}

// find returns the caller for the visitor's calls and the tool in the path.
func (h *toolHandlers) find(r *http.Request, v *people.Visit) (*account.Principal, *tool.Tool, error) {
	p, all, err := h.all(r, v)
	if err != nil {
		return nil, nil, err
	}
	name := r.PathValue("tool")
	i := slices.IndexFunc(all, func(t tool.Tool) bool { return t.Name == name })
	if i < 0 {
		return nil, nil, llm.Errorf(llm.CodeNotFound,
			"There is no such tool for this account. The page Tools lists all.")
	}
	return p, &all[i], nil
}

func tryPageOf(base string, t *tool.Tool, f *form) tryPage {
	p := tryPage{
		Name: t.Name, About: aboutTool(t), Path: base + "/tools/" + url.PathEscape(t.Name), ListPath: base + "/tools",
		Fields: argumentsOf(t).fields(f),
	}
	p.Problems = f.problems()
	return p
}

// call calls the tool with the arguments of the form.
func (h *toolHandlers) call(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	p, t, err := h.find(r, v)
	if err != nil {
		return err
	}
	f, base := sent(r), accountPath(v.Account.Name)
	arguments := argumentsOf(t).read(f)
	if f.bad() {
		return h.showTry(w, r, v, tryPageOf(base, t, f), f)
	}
	id, result, err := h.tools.Call(r.Context(), p, t.Name, arguments)
	data := tryPageOf(base, t, f)
	data.Result = tryResultOf(result, err)
	if id != uuid.Nil {
		data.Result.Request = base + "/requests/" + id.String()
	}
	return h.showTry(w, r, v, data, f)
}

func tryResultOf(result *tool.Result, err error) *tryResult {
	shown := &tryResult{Badge: Badge{"good", "Complete"}}
	if result != nil && result.Charge != nil {
		shown.Cost = dollars(*result.Charge)
	}
	if err != nil {
		shown.Badge, shown.Problem = Badge{"bad", "No result"}, toolProblem(err)
		return shown
	}
	if result.IsError {
		shown.Badge = Badge{"warn", "The tool failed"}
	}
	const mostTexts = 10
	for i, block := range rawjson.Elements(rawjson.Get(result.JSON, "content")) {
		if text := rawjson.Text(rawjson.Get(block, "text")); text != "" && len(shown.Texts) < mostTexts {
			const most = 32 << 10
			text = strings.ToValidUTF8(text[:min(len(text), most)], "")
			shown.Texts = append(shown.Texts, Code{"text-" + strconv.Itoa(i), "Text of the result", text})
		}
	}
	shown.Texts = append(shown.Texts, Code{"result", "Whole result", indentedJSON(result.JSON)})
	return shown
}

// toolProblem returns the error of a call for people.
func toolProblem(err error) string {
	if e := llm.AsError(err); e.Code != llm.CodeInternal {
		return e.Message
	}
	return err.Error() // of the protocol: the server's own words
}
