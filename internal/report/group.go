package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"weir/internal/llm"
)

// Dimension is a property that usage can be grouped by.
type Dimension string

// These are the dimensions.
const (
	ByModel    Dimension = "model" // "<provider>/<model-name>"
	ByProvider Dimension = "provider"
	ByKey      Dimension = "key"    // the key's id
	ByUser     Dimension = "user"   // the end user's id
	ByDay      Dimension = "day"    // YYYY-MM-DD, in UTC like the next two
	ByHour     Dimension = "hour"   // start of the hour, in RFC 3339
	ByMinute   Dimension = "minute" // start of the minute, in RFC 3339
	ByMonth    Dimension = "month"  // YYYY-MM
	// ByAccount groups by the account's id. It is not available in reports of one account.
	ByAccount Dimension = "account"
)

// dimensions lists all dimensions with a fixed name.
var dimensions = []Dimension{ByModel, ByProvider, ByKey, ByUser, ByDay, ByHour, ByMinute, ByMonth}

// maxDimensions bounds a list of dimensions.
const maxDimensions = 8

// Other replaces end users and tag values that are summed up together.
const Other = "(other)"

// tagPrefix is the prefix of a tag's dimension, before the tag's name.
const tagPrefix = "tag:"

// ByTag returns the dimension of a tag.
func ByTag(name string) Dimension { return Dimension(tagPrefix + name) }

// Tag returns the name of the dimension's tag; empty for other dimensions.
func (d Dimension) Tag() string {
	name, ok := strings.CutPrefix(string(d), tagPrefix)
	if !ok {
		return ""
	}
	return name
}

// IsTime reports whether the dimension is a period of time.
func (d Dimension) IsTime() bool { return d == ByDay || d == ByHour || d == ByMinute || d == ByMonth }

// ParseDimensions parses a comma-separated list of distinct dimensions; empty for an empty text. More lists dimensions
// that are allowed in addition to those of one account's reports.
func ParseDimensions(text string, more ...Dimension) ([]Dimension, error) {
	var list []Dimension
	for name := range strings.SplitSeq(text, ",") {
		d := Dimension(strings.TrimSpace(name))
		switch {
		case text == "":
			return nil, nil
		case !slices.Contains(dimensions, d) && !slices.Contains(more, d) && !llm.IsTagName(d.Tag()):
			return nil, fmt.Errorf("usage cannot be grouped by %.80q. Use %smodel, provider, key, user, tag:NAME, "+
				"minute, hour, day or month", name, listed(more))
		case slices.Contains(list, d):
			return nil, fmt.Errorf("%s appears twice. Write it once", d)
		}
		if list = append(list, d); len(list) > maxDimensions {
			return nil, fmt.Errorf("the list has more than %d names. Use fewer", maxDimensions)
		}
	}
	return list, nil
}

// listed returns the names, each followed by a comma.
func listed(names []Dimension) (text string) {
	for _, d := range names {
		text += string(d) + ", "
	}
	return text
}

// GroupID returns a stable id: the same account and values always yield the same id. The values are in the order of the
// dimensions.
func GroupID(account string, by []Dimension, values []*string) string {
	parts := make([]string, len(by))
	for i, d := range by {
		parts[i] = fmt.Sprintf("%q", d)
		if values[i] != nil {
			parts[i] += fmt.Sprintf("=%q", *values[i])
		}
	}
	slices.Sort(parts)
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte("weir:use:"+account+"?"+strings.Join(parts, "&"))).String()
}
