package compose

import (
	"slices"

	"weir/internal/llm"
)

// elsewhere returns the form of the request for wire formats other than its own. New reports the omitted parts and
// refuses parts that cannot be sent.
func elsewhere(r *llm.Request) *llm.Request {
	inFields := func(t llm.Tool) bool { return t.Search != nil && len(t.Search.Fields) > 0 }
	if r.Elsewhere == nil && !slices.ContainsFunc(r.Tools, inFields) && !slices.ContainsFunc(r.Messages, changes) {
		return r
	}
	in := *r
	if e := r.Elsewhere; e != nil {
		in.Tools, in.ToolChoice = e.Tools, e.ToolChoice
		if e.ToolChoice != nil { // the client's format may have it as an extra field
			isChoice := func(f llm.Field) bool { return f.Name == "tool_choice" }
			in.Extra = slices.DeleteFunc(slices.Clone(r.Extra), isChoice)
		}
		if e.OneCall {
			in.ParallelTools = new(bool)
		}
		if e.Effort != "" {
			in.Reasoning = &llm.ReasoningOptions{Effort: e.Effort}
		}
		in.Elsewhere, in.Unrun = nil, e.Refused // set once, so that later changes stay
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

// isElsewhere reports whether a part, or a part of its tool result, has another form in other wire formats.
func isElsewhere(p llm.Part) bool {
	return p.Elsewhere != nil || p.Result != nil && slices.ContainsFunc(p.Result.Parts, isElsewhere)
}

// changes reports whether a message has another form in other wire formats.
func changes(m llm.Message) bool {
	return slices.ContainsFunc(m.Parts, func(p llm.Part) bool { return isElsewhere(p) || isTrace(m.Role, &p) })
}

// isTrace reports whether a part is a trace of a vendor's own tool in an answer, such as a search and its results.
// The next answer does not depend on it, because the model's text is in the message.
func isTrace(role llm.Role, p *llm.Part) bool {
	return role == llm.RoleAssistant && p.Kind == llm.PartOther && p.Elsewhere == nil
}

// turns collects messages made of parts.
type turns struct {
	messages []llm.Message
	leftOut  []string
	role     llm.Role // the role of the current message
}

// split appends a message whose parts changed: tool results as messages of tools, and no message if no part is left.
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
	if hasResult(m) { // its wire format puts them into one message
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

// hasResult reports whether the original message has tool results.
func hasResult(m *llm.Message) bool { return slices.ContainsFunc(m.Parts, isResult) }

// append appends the form of a part for other wire formats.
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

// elsewhere records the fields that were removed from the request, by rules of vendors too, and refuses a tool of
// another wire format that the client does not run.
func (u *Unsent) elsewhere(r *llm.Request) {
	for _, name := range r.LeftOut {
		u.Drop(name)
	}
	if !u.Own && r.Unrun != nil && u.Err == nil {
		u.Err = r.Unrun
	}
}
