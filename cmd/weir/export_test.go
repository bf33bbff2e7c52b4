package main

import (
	"bytes"
	"encoding/csv"
	"io"
	"strings"
	"testing"

	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/report"
)

// TestExportIsNoFormula writes names that somebody has chosen, of which no sheet
// makes a formula; other names stay as they are.
func TestExportIsNoFormula(t *testing.T) {
	t.Parallel()
	for format, write := range exportFormats() {
		for _, name := range []string{`=HYPERLINK("http://evil.example")`, "+1", "-1", "@SUM(A1)", "\t=1", "plain/model"} {
			want := name
			if name != "plain/model" {
				want = "'" + name
			}
			var out bytes.Buffer
			err := write(&out, io.Discard, func(fn func(*report.Exported) error) error {
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

// TestUsesHaveBound prints the upper bound beside an estimate, and beside nothing else.
func TestUsesHaveBound(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	page := report.UsesPage{
		Uses:  []report.Use{{Date: "2026-11-21", Model: "a/b", Cost: 2 * llm.USD, Uncertain: llm.USD}, {Date: "2026-11-20", Model: "a/b", Cost: llm.USD}},
		Total: report.Totals{Cost: 3 * llm.USD, Uncertain: llm.USD},
	}
	must.Do(t, (&environment{stdout: &out}).printUses(report.UsesQuery{}, page))
	for _, want := range []string{"$2, at most $3", "$3, at most $4"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("got %s, want %q", out.String(), want)
		}
	}
	if n := strings.Count(out.String(), "at most"); n != 2 {
		t.Errorf("got %d bounds, want 2:\n%s", n, out.String())
	}
}
