package rules

import (
	"slices"

	"weir/internal/llm"
)

// Fitting is a request that is being fitted to its target: a copy, with its messages and tools. What was given stays as it
// is.
type Fitting struct {
	*llm.Request
	parts  map[int]bool      // the messages whose parts are copies
	names  map[string]string // the client's names of tools, by those that are sent
	called map[string]string // the other way round
}

// newFitting is a copy of what changes may be written to.
func newFitting(r *llm.Request) *Fitting {
	other := *r
	other.Messages, other.Tools, other.LeftOut = slices.Clone(r.Messages), slices.Clone(r.Tools), slices.Clone(r.LeftOut)
	return &Fitting{Request: &other, parts: map[int]bool{}}
}

// Drop names what was left out or changed.
func (f *Fitting) Drop(what string) {
	if !slices.Contains(f.LeftOut, what) {
		f.LeftOut = append(f.LeftOut, what)
	}
}

// part is where message i has its part j, to be changed.
func (f *Fitting) part(i, j int) *llm.Part {
	m := &f.Messages[i]
	if !f.parts[i] {
		m.Parts, f.parts[i] = slices.Clone(m.Parts), true
	}
	return &m.Parts[j]
}

// calls replaces tool calls by what change makes of them.
func (f *Fitting) calls(change func(c *llm.ToolCall)) {
	for i := range f.Messages {
		for j := range f.Messages[i].Parts {
			if c := f.Messages[i].Parts[j].Call; c != nil {
				other := *c
				change(&other)
				f.part(i, j).Call = &other
			}
		}
	}
}

// results replaces results of tools by what change makes of them.
func (f *Fitting) results(change func(r *llm.ToolResult)) {
	for i := range f.Messages {
		for j := range f.Messages[i].Parts {
			if r := f.Messages[i].Parts[j].Result; r != nil {
				other := *r
				change(&other)
				f.part(i, j).Result = &other
			}
		}
	}
}

// rename has a tool of the client's be called otherwise at the target.
func (f *Fitting) rename(name, sent string) {
	if f.names == nil {
		f.names, f.called = map[string]string{}, map[string]string{}
	}
	f.names[sent], f.called[name] = name, sent
}
