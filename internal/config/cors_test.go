package config_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestOriginsOfCORS checks the valid origins of cors, and that values that browsers never send are refused.
func TestOriginsOfCORS(t *testing.T) {
	t.Parallel()
	many := make([]string, 101)
	for i := range many {
		many[i] = fmt.Sprintf("https://a%d.example", i)
	}
	for list, want := range map[string]string{
		`"*"`:                     "",
		`https://app.example.com`: "",
		`"http://localhost:3000", "http://[::1]:5173", chrome-extension://abcdefghijklmnop, tauri://localhost`: "",
		`"*", https://app.example.com`:               "remove the others",
		`https://app.example.com/`:                   "must be an origin such as",
		`https://app.example.com/chat`:               "must be an origin such as",
		`app.example.com`:                            "must be an origin such as",
		`"null"`:                                     "must be an origin such as",
		`"file://x"`:                                 "must be an origin such as",
		`"https://*.example.com"`:                    "must be an origin such as",
		`"https://user@app.example.com"`:             "must be an origin such as",
		`"https://app.example.com:"`:                 "must be an origin such as",
		`"https://bücher.example"`:                   "must be an origin such as",
		`""`:                                         "must be an origin such as",
		`https://A.example, "https://a.example:443"`: "has https://a.example twice",
		strings.Join(many, ", "):                     "the maximum is 100",
	} {
		_, err := world{files: map[string]string{"weir.yaml": "cors: {origins: [" + list + "]}"}}.load()
		if got := fmt.Sprint(err); (err == nil) != (want == "") || !strings.Contains(got, want) && want != "" {
			t.Errorf("%.100s: got %v, want %q", list, err, want)
		}
	}
	if got := mustLoad(t, world{}).CORS.Origins; len(got) != 0 {
		t.Errorf("without a configuration: got %q, want none", got)
	}
}
