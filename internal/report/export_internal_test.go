package report

import (
	"bytes"
	"encoding/csv"
	"strings"
	"testing"

	"weir/internal/llm"
)

// TestExportIsNoFormula checks that no sheet reads a chosen name as a formula; other names are unchanged.
func TestExportIsNoFormula(t *testing.T) {
	t.Parallel()
	for format, write := range ExportFormats("") {
		for _, name := range []string{`=HYPERLINK("http://evil.example")`, "+1", "-1", "@SUM(A1)", "\t=1", "plain/model"} {
			want := name
			if name != "plain/model" {
				want = "'" + name
			}
			var out bytes.Buffer
			_, err := write(&out, func(fn func(*Exported) error) error {
				e := priced(llm.Usage{llm.Input: 1})
				e.Requested, e.Provider, e.Model, e.AccountName, e.KeyLabel = name, name, name, name, name
				return fn(e)
			})
			if err != nil {
				t.Fatalf("%s: %v", format, err)
			}
			rows, err := csv.NewReader(&out).ReadAll()
			if err != nil || len(rows) != 2 {
				t.Fatalf("%s: got %v, %v; want a head and a row", format, rows, err)
			}
			found := false
			for i, cell := range rows[1] {
				if cell != "" && strings.Contains("=+-@\t\r\n", cell[:1]) {
					t.Errorf("%s, %s: got %q, want no formula", format, rows[0][i], cell)
				}
				found = found || cell == want
			}
			if !found {
				t.Errorf("%s: got %q, want %q in it", format, rows[1], want)
			}
		}
	}
}
