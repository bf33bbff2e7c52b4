package rules

import (
	"slices"

	"weir/internal/llm"
)

// CallIDs requires a form for the ids of tool calls and of their results.
type CallIDs struct{ Form Form }

// Broken returns the first id without the form.
func (a CallIDs) Broken(r *llm.Request, _ []byte) string {
	for i := range r.Messages {
		for j := range r.Messages[i].Parts {
			p := &r.Messages[i].Parts[j]
			switch {
			case p.Call != nil && !a.Form.Holds(p.Call.ID):
				return quoted(p.Call.ID)
			case p.Result != nil && !a.Form.Holds(p.Result.CallID):
				return quoted(p.Result.CallID)
			}
		}
	}
	return ""
}

// Fit replaces such ids, each by the same id everywhere.
func (a CallIDs) Fit(f *Fitting) error {
	f.calls(func(c *llm.ToolCall) { c.ID = a.made(c.ID) })
	f.results(func(r *llm.ToolResult) { r.CallID = a.made(r.CallID) })
	return nil
}

func (a CallIDs) made(id string) string {
	if a.Form.Holds(id) {
		return id
	}
	return a.Form.Make(id)
}

func (a CallIDs) String() string { return "Ids of tool calls have " + a.Form.String() }

// ToolNames requires a form for the names of tools, everywhere in a request.
type ToolNames struct{ Form Form }

// Broken returns the first name without the form.
func (a ToolNames) Broken(r *llm.Request, _ []byte) string {
	for name := range toolNames(r) {
		if !a.Form.Holds(name) {
			return quoted(name)
		}
	}
	return ""
}

// Fit replaces such names and records the client's names for the answer.
func (a ToolNames) Fit(f *Fitting) error {
	for name := range toolNames(f.Request) {
		if !a.Form.Holds(name) {
			f.rename(name, a.Form.Make(name))
		}
	}
	named := func(name string) string {
		if sent, is := f.called[name]; is {
			return sent
		}
		return name
	}
	for i := range f.Tools {
		f.Tools[i].Name = named(f.Tools[i].Name)
	}
	f.calls(func(c *llm.ToolCall) { c.Name = named(c.Name) })
	f.results(func(r *llm.ToolResult) { r.Name = named(r.Name) })
	if c := f.ToolChoice; c != nil {
		other := *c
		other.Name, other.Allowed = named(c.Name), slices.Clone(c.Allowed)
		for i, name := range other.Allowed {
			other.Allowed[i] = named(name)
		}
		f.ToolChoice = &other
	}
	return nil
}

// isFunction reports whether a tool is a function of the client, and not one that the vendor runs.
func isFunction(t *llm.Tool) bool { return t.Raw == nil && t.Search == nil }

// toolNames iterates over the names of the functions that a request offers, chooses or has called.
func toolNames(r *llm.Request) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for i := range r.Tools {
			if t := &r.Tools[i]; isFunction(t) && !yield(t.Name) {
				return
			}
		}
		if c := r.ToolChoice; c != nil && c.Mode == llm.ToolsNamed && !yield(c.Name) {
			return
		}
		for i := range r.Messages {
			for j := range r.Messages[i].Parts {
				p := &r.Messages[i].Parts[j]
				if p.Call != nil && !yield(p.Call.Name) ||
					p.Result != nil && p.Result.Name != "" && !yield(p.Result.Name) {
					return
				}
			}
		}
	}
}

func (a ToolNames) String() string { return "Names of tools have " + a.Form.String() }

// EndUser requires a form for the id of the end user.
type EndUser struct{ Form Form }

// Broken returns an id without the form.
func (a EndUser) Broken(r *llm.Request, _ []byte) string {
	if r.User == "" || a.Form.Holds(r.User) {
		return ""
	}
	return quoted(r.User)
}

// Fit replaces the id by its hash, which distinguishes end users as well.
func (a EndUser) Fit(f *Fitting) error {
	f.User = hash(f.User, hashed)
	return nil
}

func (a EndUser) String() string { return "The end user's id has " + a.Form.String() }

// quoted formats a value for a message, and shortens a long one.
func quoted(s string) string {
	const most = 100
	if len(s) > most {
		s = s[:most] + "..."
	}
	return "'" + s + "'"
}

// says returns a message of one text.
func says(role llm.Role, text string) llm.Message {
	return llm.Message{Role: role, Parts: []llm.Part{{Kind: llm.PartText, Text: text}}}
}
