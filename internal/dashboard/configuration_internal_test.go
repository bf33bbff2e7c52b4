package dashboard

import (
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestValuesAreLinesForPeople checks the text of objects of the configuration: no JSON, no number in the form 1e+06.
func TestValuesAreLinesForPeople(t *testing.T) {
	t.Parallel()
	type object = map[string]any
	for _, test := range []struct {
		path  string
		value any
		want  string
	}{
		{"aliases.fast", object{"targets": []any{"a/x", "b/y"}, "on": []any{"timeout"}}, "a/x; then b/y; On: timeout"},
		{"aliases.fast", object{"targets": []any{"a/x", "b/y", "c/z"}, "weights": []any{uint64(3), float64(1), int64(0)}, "strategy": "weighted"}, "a/x, weight 3 (75 %); b/y, weight 1 (25 %); c/z, only if the others fail; Strategy: weighted: by the weights"},
		{"limits", object{"tpm": float64(9_000_000), "per_key": object{"rpm": 6, "tpm": 7}}, "Tokens per minute: 9000000; Per key: rpm 6, tpm 7"},
		{"limits", object{"rpm": 0, "per_key": object{"rpm": 0, "tpm": 0, "concurrency": 0}}, "Requests per minute: no limit; Per key: no limit"},
		{"cors", object{"origins": []any{}}, "Origins: none"},
		{"cors", object{"origins": []any{"https://a.example"}}, "Origins: https://a.example"},
		{"providers.house", object{"timeouts": object{"total": "1m", "idle": []any{1, 2}}}, "Timeouts: idle (1, 2), total 1m"},
		{"mcp_bundles.all", object{"accounts": []any{}, "tools": []any{"a/*"}}, "Accounts: all; Tools: a/*"},
		{"mcp_bundles.own", object{"accounts": []any{"acme"}}, "Accounts: acme"},
		{"cors", "x", "x"},
		{"cors", nil, ""},
	} {
		if got := objectText(test.path, test.value); got != test.want {
			t.Errorf("%s: got %q, want %q", test.path, got, test.want)
		}
	}
	for text, want := range map[string]string{`":8080"`: ":8080", `["[redacted]"]`: "[redacted]", "6000000": "6000000", "x": "x", "null": ""} {
		if got := plainJSON(text); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

// TestAliasRowsAreReadBack checks that the rows of a form give the object that they show, whatever rows are empty.
func TestAliasRowsAreReadBack(t *testing.T) {
	t.Parallel()
	is := map[string]any{"targets": []any{"a/x", "b/y"}, "weights": []any{uint64(3), uint64(1)}}
	sent := &form{values: url.Values{}}
	rows := aliasRows(is, &form{})
	for _, row := range rows {
		sent.values.Add("targets", row.Target)
		sent.values.Add("weights", row.Weight)
	}
	members := configSections[0].members
	got := map[string]any{}
	for i := range members {
		if value := members[i].read(sent); value != nil {
			got[members[i].key] = value
		}
	}
	want := map[string]any{"targets": []any{"a/x", "b/y"}, "weights": []any{int64(3), int64(1)}}
	if diff := cmp.Diff(got, want); diff != "" || len(rows) != 5 {
		t.Errorf("got %d rows and, with - for got and + for want:\n%s", len(rows), diff)
	}
	if again := aliasRows(nil, sent); again[1] != rows[1] {
		t.Errorf("sent rows: got %v, want %v", again[1], rows[1])
	}
	long := &form{values: url.Values{"targets": strings.Split(strings.Repeat("x ", 1000), " ")}}
	if got := len(aliasRows(nil, long)); got != mostRows {
		t.Errorf("many rows: got %d, want %d", got, mostRows)
	}
}
