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

// UsesFilters returns the names of the parameters of ParseUsesFilters, except filters by tags: see ParseTags.
func UsesFilters() []string {
	return []string{
		"start_date", "end_date", "from", "to", "model", "provider", "key", "user", "group_by", "sort", "top",
	}
}

// maxTop bounds the groups that are not summed up as Other.
const maxTop = 100

// ParseUses builds an account's query from parameters of GET /v1/uses. The error is a *llm.Error that names the wrong
// parameter.
func ParseUses(accountID string, params map[string]string, more ...Dimension) (q UsesQuery, err error) {
	if q, err = ParseUsesFilters(params, more...); err != nil {
		return q, err
	}
	q.Account = accountID
	if q.Limit, err = parse.QueryInt("limit", params["limit"], DefaultLimit, 1, MaxLimit); err != nil {
		return q, err
	}
	q.Offset, err = parse.QueryInt("offset", params["offset"], 0, 0, MaxOffset)
	return q, err
}

// ParseUsesFilters builds a query without a page, for no account yet. More lists dimensions that reports of one
// account do not have.
func ParseUsesFilters(params map[string]string, more ...Dimension) (q UsesQuery, err error) {
	q = UsesQuery{Model: params["model"], Provider: params["provider"], Key: params["key"], User: params["user"]}
	for _, name := range UsesFilters() {
		if !llm.IsText(params[name]) {
			return q, llm.Invalid(name, "The "+name+" is not valid UTF-8, or contains the character U+0000.")
		}
	}
	if q.By, err = ParseGroups(params["group_by"], more...); err != nil {
		return q, err
	}
	if q.Tags, err = ParseTags(params); err != nil {
		return q, err
	}
	if q.From, q.To, err = ParseDates(params["start_date"], params["end_date"]); err != nil {
		return q, err
	}
	if q.Since, q.Until, err = ParseTimes(params["from"], params["to"]); err != nil {
		return q, err
	}
	if q.Sort, err = ParseMeasure("sort", params["sort"]); err != nil {
		return q, err
	}
	q.Failed = q.Sort == MeasureErrors || q.Sort == MeasureAttempts
	switch params["first_token"] {
	case "true":
		q.Speeds = true
	case "", "false":
	default:
		return q, llm.Invalid("first_token", `first_token is not "true" or "false". Use one of them, or leave it out.`)
	}
	if q.Top, err = parse.QueryInt("top", params["top"], 0, 0, maxTop); err != nil {
		return q, err
	}
	return q, q.CheckTop()
}

// CheckTop returns an error if there are no groups to sum up as Other.
func (q *UsesQuery) CheckTop() error {
	if q.Top > 0 && q.Ranked() < 0 {
		return llm.Invalid("top", "top needs a group that is no period of time, such as group_by=day,model.")
	}
	return nil
}

// Ranked returns the index of the last dimension that is no period of time; -1 if there is none.
func (q *UsesQuery) Ranked() int {
	for i := range slices.Backward(q.By) {
		if !q.By[i].IsTime() {
			return i
		}
	}
	return -1
}

// ParseTimes parses two RFC 3339 times or UTC dates, which mean their start; zero for no bound. Both are rounded down
// to minutes.
func ParseTimes(from, to string) (since, until time.Time, err error) {
	if since, err = parseInstant("from", from); err != nil {
		return since, until, err
	}
	if until, err = parseInstant("to", to); err != nil {
		return since, until, err
	}
	since, until = since.Truncate(time.Minute), until.Truncate(time.Minute)
	if !since.IsZero() && !until.IsZero() && !since.Before(until) {
		return since, until, llm.Invalid("from", "from must be at least a minute before to.")
	}
	return since, until, nil
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
