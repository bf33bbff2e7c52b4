package rules

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// NoRefusals asks for a history without members that say that the model refused, and without parts that do.
type NoRefusals struct{}

// Broken is the message that has one, be it null in a body, as answers have it that clients give back.
func (NoRefusals) Broken(r *llm.Request, body []byte) string {
	if body != nil {
		return cmp.Or(MessageMembers{Without: refusal}.Broken(r, body), RefusalMembers{}.Broken(r, body))
	}
	for i := range r.Messages {
		if slices.ContainsFunc(r.Messages[i].Parts, func(p llm.Part) bool { return p.Kind == llm.PartRefusal }) {
			return fmt.Sprintf("messages.%d.refusal", i)
		}
	}
	return ""
}

// Fit has the refusal as text.
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

// Example has one.
func (NoRefusals) Example() *llm.Request {
	r := saying("hello")
	r.Messages = append(r.Messages, llm.Message{
		Role: llm.RoleAssistant, Parts: []llm.Part{{Kind: llm.PartRefusal, Text: "No."}},
	}, says(llm.RoleUser, "why?"))
	return r
}

func (NoRefusals) String() string { return "A refusal in the history is text" }

// RefusalMembers asks that a refusal is a member of its message, and no part of the content. The tree knows no such parts,
// so a request that is written from it holds this.
type RefusalMembers struct{}

const refusal = "refusal"

// Broken is the first part in a body.
func (RefusalMembers) Broken(_ *llm.Request, body []byte) string {
	for i, m := range rawjson.Elements(rawjson.Get(body, "messages")) {
		for j, p := range rawjson.Elements(rawjson.Get(m, "content")) {
			if rawjson.Text(rawjson.Get(p, "type")) == refusal {
				return fmt.Sprintf("messages.%d.content.%d", i, j)
			}
		}
	}
	return ""
}

// Fit changes nothing: the encoder writes what is right.
func (RefusalMembers) Fit(*Fitting) error { return nil }

// Example is a request of one message. What breaks the rule is the part in its body.
func (RefusalMembers) Example() *llm.Request { return saying("hello") }

func (RefusalMembers) String() string {
	return "A refusal in the history is the member `refusal` of its message"
}

// DocumentURLs asks that a document inline is a data URL in a part of its own. The tree knows no such parts, so a request
// that is written from it holds this.
type DocumentURLs struct{}

// Broken is the member of a document in a body, as OpenAI has it.
func (DocumentURLs) Broken(_ *llm.Request, body []byte) string {
	if !bytes.Contains(body, []byte(`"file_data"`)) {
		return ""
	}
	return "file"
}

// Fit changes nothing: the encoder writes what is right.
func (DocumentURLs) Fit(*Fitting) error { return nil }

// Example is a request of one message. What breaks the rule is the member in its body.
func (DocumentURLs) Example() *llm.Request { return saying("hello") }

func (DocumentURLs) String() string {
	return "A document inline is a data URL in a part `document_url`"
}

// NoNames asks for messages without the names of who speaks.
type NoNames struct{}

// Broken is the first name.
func (NoNames) Broken(r *llm.Request, _ []byte) string {
	for i := range r.Messages {
		if name := r.Messages[i].Name; name != "" {
			return quoted(name)
		}
	}
	return ""
}

// Fit leaves them out.
func (NoNames) Fit(f *Fitting) error {
	for i := range f.Messages {
		f.Messages[i].Name = ""
	}
	f.Drop("name")
	return nil
}

// Example has one.
func (NoNames) Example() *llm.Request {
	r := saying("hello")
	r.Messages[0].Name = "ann"
	return r
}

func (NoNames) String() string { return "Messages do not name who speaks" }

// ToolParameters asks that each function has a schema of its arguments.
type ToolParameters struct{}

// Broken is the first function that has none.
func (ToolParameters) Broken(r *llm.Request, _ []byte) string {
	for i := range r.Tools {
		if hasNoParameters(&r.Tools[i]) {
			return quoted(r.Tools[i].Name)
		}
	}
	return ""
}

func hasNoParameters(t *llm.Tool) bool { return isFunction(t) && t.Parameters == nil }

// Fit gives it one of no arguments.
func (ToolParameters) Fit(f *Fitting) error {
	for i := range f.Tools {
		if hasNoParameters(&f.Tools[i]) {
			f.Tools[i].Parameters = []byte(`{"type":"object","properties":{}}`)
		}
	}
	return nil
}

// Example has a function without.
func (ToolParameters) Example() *llm.Request {
	r := saying("hello")
	r.Tools = []llm.Tool{{Name: "f"}}
	return r
}

func (ToolParameters) String() string { return "Each function has `parameters`" }

// NoAllowedTools asks for a choice among all tools that are offered.
type NoAllowedTools struct{}

// Broken is the choice among some.
func (NoAllowedTools) Broken(r *llm.Request, _ []byte) string {
	if r.ToolChoice == nil || r.ToolChoice.Allowed == nil {
		return ""
	}
	return "tool_choice"
}

// Fit offers those alone.
func (NoAllowedTools) Fit(f *Fitting) error {
	choice := *f.ToolChoice
	f.Tools = slices.DeleteFunc(f.Tools, func(t llm.Tool) bool {
		return t.Raw != nil || !slices.Contains(choice.Allowed, t.Name)
	})
	choice.Allowed = nil
	f.ToolChoice = &choice
	return nil
}

// Example allows one of two.
func (NoAllowedTools) Example() *llm.Request {
	r := saying("hello")
	schema := []byte(`{"type":"object"}`)
	r.Tools = []llm.Tool{{Name: "f", Parameters: schema}, {Name: "g", Parameters: schema}}
	r.ToolChoice = &llm.ToolChoice{Mode: llm.ToolsAuto, Allowed: []string{"g"}}
	return r
}

func (NoAllowedTools) String() string {
	return "A choice is among all tools: where it is among some, these alone are offered"
}
