package api

import (
	"weir/internal/llm"
	"weir/internal/report"
)

// useGroup are the values of the dimensions by which an entry is grouped; null where a request has none.
type useGroup map[report.Dimension]*string

func groupOf(by []report.Dimension, values []*string) useGroup {
	g := make(useGroup, len(by))
	for i, d := range by {
		g[d] = values[i]
	}
	return g
}

// readGroups reads the parameter group_by.
func readGroups(text string) ([]report.Dimension, error) {
	by, err := report.ParseDimensions(text)
	if err != nil {
		return nil, llm.Invalidf("group_by", "group_by: %s.", err)
	}
	return by, nil
}
