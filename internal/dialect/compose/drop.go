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

// A request may have fields without number, of any name. What is told of them
// fits into a header.
const (
	maxDropped     = 100 // names
	maxDroppedName = 64  // bytes
)

// Drop notes, once, the name of what is left out: of the first hundred names
// 64 bytes each, in printable ASCII and without a comma, for they are listed.
func (w *Writer) Drop(what string) {
	if len(w.dropped) >= maxDropped {
		return
	}
	if what = printable(what); !slices.Contains(w.dropped, what) {
		w.dropped = append(w.dropped, what)
	}
}

// printable is the beginning of s with a question mark for each comma, and for
// each character that is not printable ASCII.
func printable(s string) string {
	if len(s) > maxDroppedName {
		s = s[:maxDroppedName]
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || r == ',' {
			return '?'
		}
		return r
	}, s) // never longer than s, and s itself where nothing is to be replaced
}

// ForeignTool is the error about a tool of another API that is no function, at
// that place of the request's tools. It names the tool by what its vendor calls
// its type.
func ForeignTool(raw []byte, place int) error {
	return ForeignToolAt(raw, "tools["+strconv.Itoa(place)+"]")
}

// ForeignToolAt is ForeignTool of a tool that stands elsewhere.
func ForeignToolAt(raw []byte, at string) error {
	kind := rawjson.Text(rawjson.Get(raw, "type"))
	for m := range rawjson.Members(raw) {
		kind = cmp.Or(kind, m.Name()) // Gemini's is the name of its one member
	}
	return llm.Invalid(
		at, fmt.Sprintf("The tool %s is of the type %q, which the provider of this model does not have. Leave it "+
			"out, or choose a model that has it.", at, printable(kind)))
}

// RefuseTool refuses a tool of another API that is no function.
func (w *Writer) RefuseTool(raw []byte, place int) {
	if w.Err == nil {
		w.Err = ForeignTool(raw, place)
	}
}

// DropMarks notes what is left out beside a part's content, unless it is in this
// wire format's words.
func (w *Writer) DropMarks(p *llm.Part) {
	if w.Own {
		return
	}
	if p.CacheControl != nil {
		w.Drop("cache_control")
	}
	if p.Annotations != nil {
		w.Drop("annotations")
	}
	if len(p.Extra) > 0 {
		w.Drop("content fields of another API")
	}
}

// DropThinking notes a wish to think that names neither an effort nor a budget, and so is no word of this wire format.
func (w *Writer) DropThinking(o *llm.ReasoningOptions) {
	if IsOpenThinking(o) && !w.Own {
		w.Drop("thinking")
	}
}

// IsOpenThinking reports whether a wish to think leaves it to the model how much.
func IsOpenThinking(o *llm.ReasoningOptions) bool {
	return o != nil && o.Raw != nil && o.Effort == "" && o.Budget <= 0
}

// DropProof notes what is lost of another vendor's proof of its thinking, which
// may stand on any part.
func (w *Writer) DropProof(p *llm.Part) {
	if p.Signature != "" {
		w.Drop("reasoning signature")
	}
	if p.Redacted != "" {
		w.Drop("redacted reasoning")
	}
}
