package dashboard

import (
	"math"
	"regexp"
	"strconv"
	"testing"

	"weir/internal/must"
)

var token = regexp.MustCompile(`--([a-z0-9-]+): (#[0-9a-f]{6});`)

// tokens returns the colours of a block of the style sheet, by name.
func tokens(block string) map[string]string {
	all := map[string]string{}
	for _, m := range token.FindAllStringSubmatch(block, -1) {
		all[m[1]] = m[2]
	}
	return all
}

// contrast returns the ratio of two colours by WCAG 2.2, from 1 to 21.
func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	x, y := luminance(t, a), luminance(t, b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func luminance(t *testing.T, colour string) float64 {
	t.Helper()
	if len(colour) != 7 {
		t.Fatalf("colour: got %q, want one such as #0a616c", colour)
	}
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n := must.Get(strconv.ParseUint(colour[1+2*i:3+2*i], 16, 8))(t)
		c := float64(n) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}

func TestContrastOfKnownColours(t *testing.T) {
	t.Parallel()
	if got := contrast(t, "#000000", "#ffffff"); math.Abs(got-21) > 0.001 {
		t.Errorf("black on white: got %f, want 21", got)
	}
	if got := contrast(t, "#777777", "#ffffff"); math.Abs(got-4.478) > 0.001 {
		t.Errorf("#777777 on white: got %f, want 4.478", got)
	}
}
