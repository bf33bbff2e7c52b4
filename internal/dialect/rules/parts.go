package rules

import (
	"cmp"
	"fmt"
	"slices"

	"weir/internal/llm"
)

// NoRefusals forbids refusals of the model in earlier messages, as members and as parts.
type NoRefusals struct{}

// Broken returns the first message with a refusal. In a body, a refusal of null counts, because answers have it and
// clients return it.
func (NoRefusals) Broken(r *llm.Request, body []byte) string {
	if body != nil {
		return cmp.Or(MessageMembers{Without: refusal}.Broken(r, body), refusalPart(body))
	}
	for i := range r.Messages {
		if slices.ContainsFunc(r.Messages[i].Parts, func(p llm.Part) bool { return p.Kind == llm.PartRefusal }) {
			return fmt.Sprintf("messages.%d.refusal", i)
		}
	}
	return ""
}

// Fit converts refusals to text.
func (NoRefusals) Fit(f *Fitting) error {
	for i := range f.Messages {
		for j := range f.Messages[i].Parts {
			if f.Messages[i].Parts[j].Kind == llm.PartRefusal {
				f.part(i, j).Kind = llm.PartText
			}
		}
	}
	return nil
}

func (NoRefusals) String() string { return "Refusals in earlier messages are text" }

// NoNames forbids author names in messages.
type NoNames struct{}

// Broken returns the first name.
func (NoNames) Broken(r *llm.Request, _ []byte) string {
	for i := range r.Messages {
		if name := r.Messages[i].Name; name != "" {
			return quoted(name)
		}
	}
	return ""
}

// Fit removes the names.
func (NoNames) Fit(f *Fitting) error {
	for i := range f.Messages {
		f.Messages[i].Name = ""
	}
	f.Drop("name")
	return nil
}

func (NoNames) String() string { return "Messages do not name their authors" }

// ToolParameters requires a schema for the arguments of each function.
type ToolParameters struct{}

// Broken returns the first function without a schema.
func (ToolParameters) Broken(r *llm.Request, _ []byte) string {
	for i := range r.Tools {
		if hasNoParameters(&r.Tools[i]) {
			return quoted(r.Tools[i].Name)
		}
	}
	return ""
}

func hasNoParameters(t *llm.Tool) bool { return isFunction(t) && t.Parameters == nil }

// Fit adds a schema without arguments.
func (ToolParameters) Fit(f *Fitting) error {
	for i := range f.Tools {
		if hasNoParameters(&f.Tools[i]) {
			f.Tools[i].Parameters = []byte(`{"type":"object","properties":{}}`)
		}
	}
	return nil
}

func (ToolParameters) String() string { return "Each function has `parameters`" }

// NoAllowedTools forbids restricting the choice to some of the offered tools.
type NoAllowedTools struct{}

// Broken returns the field of such a choice.
func (NoAllowedTools) Broken(r *llm.Request, _ []byte) string {
	if r.ToolChoice == nil || r.ToolChoice.Allowed == nil {
		return ""
	}
	return "tool_choice"
}

// Fit offers only the allowed tools.
func (NoAllowedTools) Fit(f *Fitting) error {
	choice := *f.ToolChoice
	f.Tools = slices.DeleteFunc(f.Tools, func(t llm.Tool) bool {
		return t.Raw != nil || !slices.Contains(choice.Allowed, t.Name)
	})
	choice.Allowed = nil
	f.ToolChoice = &choice
	return nil
}

func (NoAllowedTools) String() string {
	return "The choice is among all offered tools: if the client allows only some, only these are offered"
}
