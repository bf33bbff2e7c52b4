package api

import (
	"maps"
	"slices"
	"strings"

	"weir/internal/llm"
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

// readGroups parses the parameter group_by. More lists dimensions that reports of one account do not have.
func readGroups(text string, more ...report.Dimension) ([]report.Dimension, error) {
	by, err := report.ParseDimensions(text, more...)
	if err != nil {
		return nil, llm.Invalidf("group_by", "group_by: %s.", err)
	}
	return by, nil
}

// tagParameter prefixes the parameter that filters by a tag, before the tag's name.
const tagParameter = "tag."

// isUsesName reports whether GET /v1/uses has a parameter of that name. Other parameters are ignored, except misspelt
// tags: without the filter the answer would cover all requests.
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
	return llm.Invalidf(tagParameter+"NAME", "The parameter %.80q is not a valid tag filter. Use tag.NAME=value.",
		param)
}

// readTags returns the tags of the filter.
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
