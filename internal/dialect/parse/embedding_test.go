package parse_test

import (
	"strings"
	"testing"

	"weir/internal/dialect/parse"
)

// TestVectorsInOrder checks that vectors are at their indexes, and that each index appears once.
func TestVectorsInOrder(t *testing.T) {
	t.Parallel()
	for reply, want := range map[string]string{
		`[{"index":0,"v":[1]},{"index":1,"v":[2]}]`:                     "[1] [2]",
		`[{"index":2,"v":[3]},{"index":0,"v":[1]},{"index":1,"v":[2]}]`: "[1] [2] [3]",
		`[{"v":[1]},{"v":[2]}]`:                                         "[1] [2]",
		`[{"index":0,"v":[1]},{"index":0,"v":[2]}]`:                     "",
		`[{"index":7,"v":[1]},{"index":0,"v":[2]}]`:                     "",
		`[{"index":-1,"v":[1]}]`:                                        "",
		`[{"index":1,"v":[1]}]`:                                         "",
		`[{"v":[]}]`:                                                    "",
		`[]`:                                                            "",
	} {
		var got []string
		all, err := parse.Vectors([]byte(reply), "v")
		for _, v := range all {
			got = append(got, string(v.Numbers))
		}
		if strings.Join(got, " ") != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v; want %q", reply, got, err, want)
		}
	}
}

// TestCountTexts checks the number of vectors that an input requests.
func TestCountTexts(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]int64{
		`"a"`: 1, `["a"]`: 1, `["a","b"]`: 2, `[1,2,3]`: 1, `[[1,2],[3]]`: 2, `[{"text":"a"}]`: 0, `5`: 0, `[]`: 0,
	} {
		if got := parse.CountTexts([]byte(input)); got != want {
			t.Errorf("%s: %d, want %d", input, got, want)
		}
	}
}
