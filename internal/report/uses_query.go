package report

import (
	"maps"
	"slices"
	"strings"
	"time"

	"weir/internal/dialect/parse"
	"weir/internal/llm"
)

// Bounds of a page of usage, in entries.
const (
	DefaultLimit = 100
	MaxLimit     = 1000
	MaxOffset    = 1 << 40
)

// ParseUses builds an account's query from parameters of GET /v1/uses. The error is a *llm.Error that names the wrong
// parameter.
func ParseUses(accountID string, params map[string]string) (q UsesQuery, err error) {
	q = UsesQuery{Account: accountID, Model: params["model"], Key: params["key"]}
	if !llm.IsText(q.Model) {
		return q, llm.Invalid("model", "The model is not valid UTF-8, or contains the character U+0000.")
	}
	if !llm.IsText(q.Key) {
		return q, llm.Invalid("key", "The key is not valid UTF-8, or contains the character U+0000.")
	}
	if q.By, err = ParseGroups(params["group_by"]); err != nil {
		return q, err
	}
	if q.Tags, err = ParseTags(params); err != nil {
		return q, err
	}
	if q.From, q.To, err = ParseDates(params["start_date"], params["end_date"]); err != nil {
		return q, err
	}
	if q.Limit, err = parse.QueryInt("limit", params["limit"], DefaultLimit, 1, MaxLimit); err != nil {
		return q, err
	}
	q.Offset, err = parse.QueryInt("offset", params["offset"], 0, 0, MaxOffset)
	return q, err
}

// ParseDates parses two dates, both inclusive; empty for no bound.
func ParseDates(start, end string) (from, to string, err error) {
	if from, err = readDate("start_date", start); err != nil {
		return "", "", err
	}
	if to, err = readDate("end_date", end); err != nil {
		return "", "", err
	}
	if from != "" && to != "" && from > to {
		return "", "", llm.Invalid("start_date", "start_date is after end_date. Use an earlier start_date.")
	}
	return from, to, nil
}

// readDate parses a calendar date, or a timestamp, which means its UTC date.
func readDate(name, value string) (string, error) {
	if value == "" {
		return "", nil
	}
	if d, err := time.Parse(time.DateOnly, value); err == nil {
		return d.Format(time.DateOnly), nil
	}
	// An unescaped plus sign in a query string reads as a space.
	t, err := time.Parse(time.RFC3339, strings.Replace(value, " ", "+", 1))
	if err != nil {
		return "", llm.Invalidf(name, `%s is %.40q. Use a date such as "2026-01-31" or an RFC 3339 timestamp.`, name,
			value)
	}
	return t.UTC().Format(time.DateOnly), nil
}

// ParseGroups parses the parameter group_by. More lists dimensions that reports of one account do not have.
func ParseGroups(text string, more ...Dimension) ([]Dimension, error) {
	by, err := ParseDimensions(text, more...)
	if err != nil {
		return nil, llm.Invalidf("group_by", "group_by: %s.", err)
	}
	return by, nil
}

// TagParameter prefixes the parameter that filters by a tag, before the tag's name.
const TagParameter = "tag."

// IsTagFilter reports whether a parameter filters by a tag.
func IsTagFilter(param string) bool { return strings.HasPrefix(param, TagParameter) }

// WrongTagFilter refuses a parameter that looks like a filter by a tag.
func WrongTagFilter(param string) error {
	return llm.Invalidf(TagParameter+"NAME", "The parameter %.80q is not a valid tag filter. Use tag.NAME=value.",
		param)
}

// ParseTags returns the tags of the filter.
func ParseTags(params map[string]string) (tags []llm.Tag, err error) {
	for _, param := range slices.Sorted(maps.Keys(params)) {
		name, ok := strings.CutPrefix(param, TagParameter)
		switch {
		case !ok:
			continue
		case !llm.IsTagName(name) || !llm.IsTagValue(params[param]):
			return nil, WrongTagFilter(param)
		case len(tags) == llm.MaxTags:
			return nil, llm.Invalidf(TagParameter+"NAME", "There are more than %d tags. Use fewer.", llm.MaxTags)
		}
		tags = append(tags, llm.Tag{Name: name, Value: params[param]})
	}
	return tags, nil
}
