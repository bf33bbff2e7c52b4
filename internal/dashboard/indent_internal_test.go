package dashboard

import (
	"strings"
	"testing"
)

// TestIndentedJSONIsBounded checks that a text is shown as it is if its indentation would be far longer, as in a list deep
// within others, and that a long text is cut.
func TestIndentedJSONIsBounded(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 90) + strings.Repeat("1,", 2000) + "1" + strings.Repeat("]", 90)
	long := `{"a":"` + strings.Repeat("[{,", mostJSON) + `"}`
	for _, tt := range []struct{ name, text, want string }{
		{"short", `{"a":[1,2],"b":"[{,"}`, "{\n  \"a\": [\n    1,\n    2\n  ],\n  \"b\": \"[{,\"\n}"},
		{"deep", deep, deep},
		{"long", long, long[:mostJSON] + "\n…"},
		{"invalid", "[1,,", "[1,,"},
	} {
		if got := indentedJSON([]byte(tt.text)); got != tt.want {
			t.Errorf("%s: got %d bytes %.200s, want %d bytes %.200s", tt.name, len(got), got, len(tt.want), tt.want)
		}
	}
}
