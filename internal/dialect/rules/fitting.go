package rules

import (
	"slices"

	"weir/internal/llm"
)

// Fitting is a copy of a request that is being fitted to its target. Changes do not affect the original.
type Fitting struct {
	*llm.Request
	parts  map[int]bool      // the indexes of messages whose parts are copies
	names  map[string]string // the client's names of tools, by the names sent to the provider
	called map[string]string // the reverse of names
}

// newFitting copies the parts of a request that rules may change.
func newFitting(r *llm.Request) *Fitting {
	other := *r
	other.Messages, other.Tools = slices.Clone(r.Messages), slices.Clone(r.Tools)
	other.LeftOut = slices.Clone(r.LeftOut)
	return &Fitting{Request: &other, parts: map[int]bool{}}
}

// Drop records the name of something that was omitted or changed.
func (f *Fitting) Drop(what string) {
	if !slices.Contains(f.LeftOut, what) {
		f.LeftOut = append(f.LeftOut, what)
	}
}

// part returns part j of message i for writing.
func (f *Fitting) part(i, j int) *llm.Part {
	m := &f.Messages[i]
	if !f.parts[i] {
		m.Parts, f.parts[i] = slices.Clone(m.Parts), true
	}
	return &m.Parts[j]
}

// calls replaces tool calls by changed copies.
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

// results replaces tool results by changed copies.
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

// rename records the name under which a client's tool is sent to the target.
func (f *Fitting) rename(name, sent string) {
	if f.names == nil {
		f.names, f.called = map[string]string{}, map[string]string{}
	}
	f.names[sent], f.called[name] = name, sent
}
