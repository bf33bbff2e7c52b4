package compose

import (
	"slices"

	"weir/internal/llm"
)

// elsewhere is the request as other wire formats than its own get it. New tells what that leaves out, and refuses what
// cannot be carried.
func elsewhere(r *llm.Request) *llm.Request {
	inFields := func(t llm.Tool) bool { return t.Search != nil && len(t.Search.Fields) > 0 }
	if r.Elsewhere == nil && !slices.ContainsFunc(r.Tools, inFields) && !slices.ContainsFunc(r.Messages, changes) {
		return r
	}
	in := *r
	if e := r.Elsewhere; e != nil {
		in.Tools, in.ToolChoice = e.Tools, e.ToolChoice
		if e.ToolChoice != nil { // in the words of the client's format it may be an extra field
			isChoice := func(f llm.Field) bool { return f.Name == "tool_choice" }
			in.Extra = slices.DeleteFunc(slices.Clone(r.Extra), isChoice)
		}
		if e.OneCall {
			in.ParallelTools = new(bool)
		}
		if e.Effort != "" {
			in.Reasoning = &llm.ReasoningOptions{Effort: e.Effort}
		}
		in.Elsewhere, in.Unrun = nil, e.Refused // what is in place may be changed
	}
	for i := range in.Tools {
		if s := in.Tools[i].Search; s != nil && len(s.Fields) > 0 {
			in.LeftOut = append(slices.Clip(in.LeftOut), s.Lost...)
			isSaid := func(f llm.Field) bool { return slices.Contains(s.Fields, f.Name) }
			in.Extra = slices.DeleteFunc(slices.Clone(in.Extra), isSaid)
		}
	}
	if !slices.ContainsFunc(r.Messages, changes) {
		return &in
	}
	var t turns
	for i := range r.Messages {
		if m := &r.Messages[i]; changes(*m) {
			t.split(m)
		} else {
			t.messages = append(t.messages, *m)
		}
	}
	in.Messages, in.LeftOut = t.messages, append(slices.Clip(in.LeftOut), t.leftOut...)
	return &in
}

// isElsewhere reports whether a part, or one of the result that it is, is another one in other wire formats.
func isElsewhere(p llm.Part) bool {
	return p.Elsewhere != nil || p.Result != nil && slices.ContainsFunc(p.Result.Parts, isElsewhere)
}

// changes reports whether a message is another one in other wire formats.
func changes(m llm.Message) bool {
	return slices.ContainsFunc(m.Parts, func(p llm.Part) bool { return isElsewhere(p) || isTrace(m.Role, &p) })
}

// isTrace reports whether a part is what tools that a vendor runs left in an answer, such as a search and what it found. Of
// that the next answer does not depend: what the model made of it stands beside it.
func isTrace(role llm.Role, p *llm.Part) bool {
	return role == llm.RoleAssistant && p.Kind == llm.PartOther && p.Elsewhere == nil
}

// turns makes messages of parts.
type turns struct {
	messages []llm.Message
	leftOut  []string
	role     llm.Role // of the message whose parts are read
}

// split writes a message whose parts are others: results as turns of tools, and none where nothing is left.
func (t *turns) split(m *llm.Message) {
	var parts []llm.Part
	t.role = m.Role
	for i := range m.Parts {
		first := len(parts)
		parts = t.append(parts, &m.Parts[i])
		for j := first; j < len(parts); j++ {
			parts[j].At = uint32(m.Parts[i].Index(i)) + 1
		}
	}
	if hasResult(m) { // as its wire format has it
		next := *m
		next.Parts = parts
		t.messages = append(t.messages, next)
		return
	}
	for rest := *m; len(parts) > 0; rest.Extra = nil {
		n := slices.IndexFunc(parts, func(p llm.Part) bool { return isResult(p) != isResult(parts[0]) })
		if n < 0 {
			n = len(parts)
		}
		next := rest
		if next.Parts = parts[:n:n]; isResult(parts[0]) {
			next.Role = llm.RoleTool
		}
		t.messages = append(t.messages, next)
		parts = parts[n:]
	}
}

func isResult(p llm.Part) bool { return p.Kind == llm.PartToolResult }

// hasResult reports whether results have a place in the message as it came.
func hasResult(m *llm.Message) bool { return slices.ContainsFunc(m.Parts, isResult) }

// append appends what a part is elsewhere.
func (t *turns) append(parts []llm.Part, p *llm.Part) []llm.Part {
	if e := p.Elsewhere; e != nil {
		if e.LeftOut != "" {
			t.leftOut = append(t.leftOut, e.LeftOut)
		}
		return append(parts, e.Parts...)
	}
	if isTrace(t.role, p) {
		t.leftOut = append(t.leftOut, "content parts of another API")
		return parts
	}
	if !isElsewhere(*p) {
		return append(parts, *p)
	}
	whole, result := *p, *p.Result
	result.Parts = nil
	for i := range p.Result.Parts {
		result.Parts = t.append(result.Parts, &p.Result.Parts[i])
	}
	whole.Result = &result
	return append(parts, whole)
}

// elsewhere tells what is not in the request any more, be it for a rule of a vendor that speaks the client's own wire
// format, and refuses what the client does not run of another's.
func (w *Writer) elsewhere(r *llm.Request) {
	for _, name := range r.LeftOut {
		w.Drop(name)
	}
	if !w.Own && r.Unrun != nil && w.Err == nil {
		w.Err = r.Unrun
	}
}
