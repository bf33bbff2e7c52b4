package dashboard

import (
	"strings"
	"testing"
)

// TestChartOfNothingHasNoScale checks the labels of the vertical axis: only 0 if all values are 0.
func TestChartOfNothingHasNoScale(t *testing.T) {
	t.Parallel()
	for largest, want := range map[int64]string{0: "[0]", 3: "[4] [2] [0]", 1: "[2] [1] [0]"} {
		unit := func(n int64) string { return "[" + string(rune('0'+n)) + "]" }
		b := bars{unit: unit, stack: []stack{{name: "a", values: []int64{0}}, {name: "b", values: []int64{largest}}}}
		l := lines{unit: unit, series: 1, points: []point{{name: "a", values: []int64{0}}, {name: "b", values: []int64{largest}}}}
		for kind, picture := range map[string]string{"bars": string(b.picture()), "lines": string(l.picture())} {
			var got []string
			for _, part := range strings.Split(picture, `text-anchor="end">`)[1:] {
				label, _, _ := strings.Cut(part, "<")
				got = append(got, label)
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%s up to %d: got %q, want %s", kind, largest, got, want)
			}
		}
	}
}
