package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"weir/internal/llm"
)

// Dimension is what usage can be grouped by.
type Dimension string

// The dimensions.
const (
	ByModel    Dimension = "model" // "<provider>/<model-name>"
	ByProvider Dimension = "provider"
	ByKey      Dimension = "key"   // its id
	ByUser     Dimension = "user"  // the end user
	ByDay      Dimension = "day"   // YYYY-MM-DD, in UTC as the next two
	ByHour     Dimension = "hour"  // the hour's beginning, as RFC 3339 has it
	ByMonth    Dimension = "month" // YYYY-MM
	// ByAccount is its id. Reports of one account are not grouped by it.
	ByAccount Dimension = "account"
)

// dimensions are all of them that have a fixed name.
var dimensions = []Dimension{ByModel, ByProvider, ByKey, ByUser, ByDay, ByHour, ByMonth}

// maxDimensions bounds a list of them.
const maxDimensions = 8

// Other is in the place of end users and values of tags that sums do not tell apart.
const Other = "(other)"

// tagPrefix is what the dimension of a tag begins with, before the tag's name.
const tagPrefix = "tag:"

// ByTag is the dimension of a tag.
func ByTag(name string) Dimension { return Dimension(tagPrefix + name) }

// Tag is the name of the tag that it is the dimension of; empty for none.
func (d Dimension) Tag() string {
	name, ok := strings.CutPrefix(string(d), tagPrefix)
	if !ok {
		return ""
	}
	return name
}

// IsTime reports whether the dimension is a stretch of time.
func (d Dimension) IsTime() bool { return d == ByDay || d == ByHour || d == ByMonth }

// ParseDimensions reads names of dimensions with commas between them, each once; none of an empty text. More are
// dimensions beside those of one account's reports.
func ParseDimensions(text string, more ...Dimension) ([]Dimension, error) {
	var list []Dimension
	for name := range strings.SplitSeq(text, ",") {
		d := Dimension(strings.TrimSpace(name))
		switch {
		case text == "":
			return nil, nil
		case !slices.Contains(dimensions, d) && !slices.Contains(more, d) && !llm.IsTagName(d.Tag()):
			return nil, fmt.Errorf("%.80q is not a name that usage can be grouped by. Use %smodel, provider, key, user, "+
				"tag:NAME, day, hour or month", name, listed(more))
		case slices.Contains(list, d):
			return nil, fmt.Errorf("%s is named twice. Name it once", d)
		}
		if list = append(list, d); len(list) > maxDimensions {
			return nil, fmt.Errorf("there are more than %d names. Use fewer", maxDimensions)
		}
	}
	return list, nil
}

// listed are names, each with a comma behind it.
func listed(names []Dimension) (text string) {
	for _, d := range names {
		text += string(d) + ", "
	}
	return text
}

// GroupID is stable: the same account and values of dimensions give the same id for ever. The values
// are in the order of the dimensions.
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
