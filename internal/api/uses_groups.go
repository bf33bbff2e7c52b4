package api

import (
	"slices"
	"strings"

	"weir/internal/report"
)

// useGroup holds the values of an entry's dimensions; null if a request has none.
type useGroup map[report.Dimension]*string

func groupOf(by []report.Dimension, values []*string) useGroup {
	g := make(useGroup, len(by))
	for i, d := range by {
		g[d] = values[i]
	}
	return g
}

// isUsesName reports whether GET /v1/uses has a parameter of that name. Other parameters are ignored, except misspelt
// tags: without the filter the answer would cover all requests.
func isUsesName(name string) (bool, error) {
	switch {
	case name == "limit" || name == "offset" || slices.Contains(report.UsesFilters(), name) || report.IsTagFilter(name):
		return true, nil
	case strings.HasPrefix(name, "tag"):
		return false, report.WrongTagFilter(name)
	}
	return false, nil
}
