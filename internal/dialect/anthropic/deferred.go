package anthropic

import (
	"slices"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// deferLoading is the member of a tool that is loaded only when a result refers to it, as in Claude Code:
// https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-search-tool (undated copy of 2026).
const deferLoading = "defer_loading"

// reference reads a block that loads a deferred tool. For other formats it becomes a text.
func reference(v []byte) llm.Part {
	p := other(v)
	p.Elsewhere = &llm.PartElsewhere{Parts: []llm.Part{{
		Kind: llm.PartText, Text: "The tool " + toolReferred(v) + " can be called from now on.",
	}}}
	return p
}

func toolReferred(v []byte) string { return rawjson.Text(rawjson.Get(v, "tool_name")) }

// noteDeferred notes the tools for other wire formats: those that are not deferred, those that were referred to or
// called, and the one that must be called. With a tool that the vendor runs it notes nothing, because other formats
// refuse the request.
func noteDeferred(r *llm.Request) {
	waits := func(t llm.Tool) bool { return slices.ContainsFunc(t.Extra, isDeferring) }
	if !slices.ContainsFunc(r.Tools, waits) ||
		slices.ContainsFunc(r.Tools, func(t llm.Tool) bool { return t.Raw != nil }) {
		return
	}
	found := map[string]bool{}
	for i := range r.Messages {
		find(found, r.Messages[i].Parts)
	}
	if r.ToolChoice != nil {
		found[r.ToolChoice.Name] = true
	}
	e := &llm.Elsewhere{ToolChoice: r.ToolChoice}
	for _, t := range r.Tools {
		if waits(t) && !found[t.Name] {
			continue
		}
		t.Extra = slices.DeleteFunc(slices.Clone(t.Extra), isDeferring)
		e.Tools = append(e.Tools, t)
	}
	r.Elsewhere = e
}

func isDeferring(f llm.Field) bool {
	on, _ := rawjson.AsBool(f.Value)
	return f.Name == deferLoading && on
}

// find records the tools that parts refer to or call.
func find(found map[string]bool, parts []llm.Part) {
	for i := range parts {
		switch p := &parts[i]; {
		case p.Elsewhere != nil:
			found[toolReferred(p.Raw)] = true
		case p.Call != nil:
			found[p.Call.Name] = true
		case p.Result != nil:
			find(found, p.Result.Parts)
		}
	}
}
