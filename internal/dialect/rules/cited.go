package rules

import (
	"slices"
	"strconv"

	"weir/internal/llm"
)

// UncitedResults forbids citations of documents in tool results.
type UncitedResults struct{}

// Broken returns the first message with such a document.
func (UncitedResults) Broken(r *llm.Request, _ []byte) string {
	for i := range r.Messages {
		if slices.ContainsFunc(r.Messages[i].Parts, hasCited) {
			return strconv.Itoa(i)
		}
	}
	return ""
}

func hasCited(p llm.Part) bool {
	return p.Result != nil && slices.ContainsFunc(p.Result.Parts, isCited)
}

// isCited reports whether a part is a document that must be cited. Search results do not count.
func isCited(p llm.Part) bool {
	if e := p.Elsewhere; e != nil {
		return slices.ContainsFunc(e.Parts, isCited)
	}
	return p.IsCited() && p.Media.Document.Source == ""
}

// Fit removes the request for citations.
func (UncitedResults) Fit(f *Fitting) error {
	f.results(func(r *llm.ToolResult) {
		if !slices.ContainsFunc(r.Parts, isCited) {
			return
		}
		f.Drop("citations")
		r.Parts = slices.Clone(r.Parts)
		for i := range r.Parts {
			if p := &r.Parts[i]; isCited(*p) {
				media, of := *p.Media, *p.Media.Document
				of.Cited, media.Document = false, &of
				p.Media = &media
			}
		}
	})
	return nil
}

func (UncitedResults) String() string { return "Documents in tool results are not cited" }
