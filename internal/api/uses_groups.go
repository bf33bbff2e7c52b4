package api

import (
	"maps"
	"slices"
	"strings"

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

// readGroups reads the parameter group_by. More are names beside those of one account's reports.
func readGroups(text string, more ...report.Dimension) ([]report.Dimension, error) {
	by, err := report.ParseDimensions(text, more...)
	if err != nil {
		return nil, llm.Invalidf("group_by", "group_by: %s.", err)
	}
	return by, nil
}

// tagParameter is what the parameter begins with that selects by a tag, before the tag's name.
const tagParameter = "tag."

// isUsesName reports whether a parameter of GET /v1/uses has that name. Others have no meaning; a misspelt name of a tag is
// refused, for without the filter the answer is of all requests.
func isUsesName(name string) (bool, error) {
	switch {
	case slices.Contains(usesNames, name) || isTag(name):
		return true, nil
	case strings.HasPrefix(name, "tag"):
		return false, wrongTag(name)
	}
	return false, nil
}

func isTag(param string) bool { return strings.HasPrefix(param, tagParameter) }

func wrongTag(param string) error {
	return llm.Invalidf(tagParameter+"NAME", "The parameter %.80q selects by no tag that a request can have. Use tag.NAME=value.", param)
}

// readTags are the tags that the parameters select by.
func readTags(params map[string]string) (tags []llm.Tag, err error) {
	for _, param := range slices.Sorted(maps.Keys(params)) {
		name, ok := strings.CutPrefix(param, tagParameter)
		switch {
		case !ok:
			continue
		case !llm.IsTagName(name) || !llm.IsTagValue(params[param]):
			return nil, wrongTag(param)
		case len(tags) == llm.MaxTags:
			return nil, llm.Invalidf(tagParameter+"NAME", "There are more than %d tags. Use fewer.", llm.MaxTags)
		}
		tags = append(tags, llm.Tag{Name: name, Value: params[param]})
	}
	return tags, nil
}
