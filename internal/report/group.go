package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// Dimension is what usage can be grouped by.
type Dimension string

// The dimensions.
const (
	ByModel    Dimension = "model" // "<provider>/<model-name>"
	ByProvider Dimension = "provider"
	ByKey      Dimension = "key"   // its id
	ByDay      Dimension = "day"   // YYYY-MM-DD, in UTC as the next two
	ByHour     Dimension = "hour"  // the hour's beginning, as RFC 3339 has it
	ByMonth    Dimension = "month" // YYYY-MM
)

// dimensions are all of them.
var dimensions = []Dimension{ByModel, ByProvider, ByKey, ByDay, ByHour, ByMonth}

// IsTime reports whether the dimension is a stretch of time.
func (d Dimension) IsTime() bool { return d == ByDay || d == ByHour || d == ByMonth }

// ParseDimensions reads names of dimensions with commas between them, each once; none of an empty text.
func ParseDimensions(text string) ([]Dimension, error) {
	var list []Dimension
	for name := range strings.SplitSeq(text, ",") {
		d := Dimension(strings.TrimSpace(name))
		switch {
		case text == "":
			return nil, nil
		case !slices.Contains(dimensions, d):
			return nil, fmt.Errorf("%.80q is not a name that usage can be grouped by. Use model, provider, key, day, hour or month", name)
		case slices.Contains(list, d):
			return nil, fmt.Errorf("%s is named twice. Name it once", d)
		}
		list = append(list, d)
	}
	return list, nil
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
