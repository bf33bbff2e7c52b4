package main

import (
	"bytes"
	"strings"
	"testing"

	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/report"
)

// TestUsesHaveBound checks that the upper bound is printed next to an estimate, and next to nothing else.
func TestUsesHaveBound(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	page := report.UsesPage{
		Uses:  []report.Use{{Date: "2026-11-21", Model: "a/b", Cost: 2 * llm.USD, Uncertain: llm.USD}, {Date: "2026-11-20", Model: "a/b", Cost: llm.USD}},
		Total: report.Totals{Cost: 3 * llm.USD, Uncertain: llm.USD},
	}
	must.Do(t, (&output{stdout: &out}).printUses(report.UsesQuery{}, page))
	for _, want := range []string{"$2, at most $3", "$3, at most $4"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("got %s, want %q", out.String(), want)
		}
	}
	if n := strings.Count(out.String(), "at most"); n != 2 {
		t.Errorf("got %d bounds, want 2:\n%s", n, out.String())
	}
}
