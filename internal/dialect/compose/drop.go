package compose

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// A request may have any number of fields with any name. The report about them must fit into a header.
const (
	maxDropped     = 100 // names
	maxDroppedName = 64  // bytes
)

// Unsent records the fields of a request that its body does not have: dropped fields, and the first refused one.
type Unsent struct {
	Own     bool  // the request's extra fields are in this wire format
	Err     error // the first field that can be neither sent nor dropped
	dropped []string
	carried []string // extra fields of another API that the body expresses in another form
}

// Refuse records a field that cannot be sent and without which the answer would change. The first refusal becomes the
// *llm.Error about that parameter.
func (u *Unsent) Refuse(param, message string) {
	if u.Err == nil {
		u.Err = llm.Invalid(param, message)
	}
}

// Drop records, once, the name of a dropped field: the first hundred names, each cut to 64 bytes of printable ASCII
// without commas, because a header lists them.
func (u *Unsent) Drop(what string) {
	if len(u.dropped) >= maxDropped {
		return
	}
	if what = printable(what); !slices.Contains(u.dropped, what) {
		u.dropped = append(u.dropped, what)
	}
}

// printable returns the beginning of s with a question mark for each comma and each character that is not printable
// ASCII.
func printable(s string) string {
	if len(s) > maxDroppedName {
		s = s[:maxDroppedName]
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || r == ',' {
			return '?'
		}
		return r
	}, s) // never longer than s, and s itself if nothing is replaced
}

// ForeignTool returns the error for a tool of another API that is not a function, at an index of the request's tools.
// The error names the tool by its vendor's type.
func ForeignTool(raw []byte, place int) error {
	return ForeignToolAt(raw, "tools["+strconv.Itoa(place)+"]")
}

// ForeignToolAt returns the error of ForeignTool for a tool at another position.
func ForeignToolAt(raw []byte, at string) error {
	kind := rawjson.Text(rawjson.Get(raw, "type"))
	for m := range rawjson.Members(raw) {
		kind = cmp.Or(kind, m.Name()) // Gemini's type is the name of its only member
	}
	return llm.Invalid(
		at, fmt.Sprintf("The tool %s is of the type %q, which the provider of this model does not have. Leave it "+
			"out, or choose a model that has it.", at, printable(kind)))
}

// RefuseTool refuses a tool of another API that is not a function.
func (u *Unsent) RefuseTool(raw []byte, place int) {
	if u.Err == nil {
		u.Err = ForeignTool(raw, place)
	}
}

// DropExtra drops an extra field of another API, unless the body expresses it in another form.
func (u *Unsent) DropExtra(name string) {
	if !slices.Contains(u.carried, name) {
		u.Drop(name)
	}
}

// DropMarks records the dropped members of a part other than its content, unless it is in this wire format.
func (u *Unsent) DropMarks(p *llm.Part) {
	if u.Own {
		return
	}
	if p.CacheControl != nil {
		u.Drop(MarkName(p.CacheControl))
	}
	if p.Annotations != nil {
		u.Drop("annotations")
	}
	if len(p.Extra) > 0 {
		u.Drop("content fields of another API")
	}
}

// DropThinking records a dropped request for thinking with neither an effort nor a budget, which this wire format
// cannot express.
func (u *Unsent) DropThinking(o *llm.ReasoningOptions) {
	if IsOpenThinking(o) && !u.Own {
		u.Drop("thinking")
	}
}

// IsOpenThinking reports whether a request for thinking has neither an effort nor a budget.
func IsOpenThinking(o *llm.ReasoningOptions) bool {
	return o != nil && o.Raw != nil && o.Effort == "" && o.Budget <= 0
}

// DropProof records the dropped signature of another vendor, which any part may have.
func (u *Unsent) DropProof(p *llm.Part) {
	if p.Signature != "" {
		u.Drop("reasoning signature")
	}
	if p.Redacted != "" {
		u.Drop("redacted reasoning")
	}
}

// EffortOf returns the effort nearest to a thinking budget in tokens.
func EffortOf(budget int64) string {
	switch {
	case budget < 4096:
		return "low"
	case budget < 16384:
		return "medium"
	}
	return "high"
}
