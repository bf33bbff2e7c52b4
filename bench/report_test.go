package main

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"weir/internal/must"
)

func TestStatOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rounds []float64
		want   *stat
	}{
		{nil, nil},
		{[]float64{math.NaN(), math.Inf(1)}, nil},
		{[]float64{3}, &stat{Median: 3, Min: 3, Max: 3, Rounds: 1}},
		{[]float64{5, 1, 3}, &stat{Median: 3, Min: 1, Max: 5, Rounds: 3}},
		{[]float64{4, 1, math.NaN(), 2, 3}, &stat{Median: 2.5, Min: 1, Max: 4, Rounds: 4}},
	} {
		must.Equal(t, statOf(c.rounds), c.want, "statOf(%v)", c.rounds)
	}
}

// sample returns a report with one figure of two subjects.
func sample() *findings {
	r := &findings{}
	s := r.section("throughput", "Throughput", column{figRatio, "of nginx", 2})
	s.row(onNginx)
	s.row(onCompletions).put(figRatio, 0.5, 0.3, 0.42)
	s.row(onChat).put(figRatio, 0.39)
	return r
}

func TestTargetsAreJudged(t *testing.T) {
	t.Parallel()
	r := sample()
	r.judge()
	if t1, t2 := r.Targets[0], r.Targets[1]; len(r.Targets) != 2 || !t1.Met || t1.Got != 0.42 || t2.Met || t2.Got != 0.39 {
		t.Errorf("targets: got %+v, want 0.42 met and 0.39 not", r.Targets)
	}
	if got, want := len(r.Notes), len(promises())-2; got != want {
		t.Errorf("notes of what was not measured: got %d, want %d: %q", got, want, r.Notes)
	}
}

func TestReportText(t *testing.T) {
	t.Parallel()
	r := sample()
	r.judge()
	var b strings.Builder
	must.Do(t, r.writeText(&b))
	for _, want := range []string{
		"  nginx                      -\n",
		"  weir /v1/chat/completions  0.42 (0.30–0.50)\n",
		"  weir /v1/chat              0.39\n",
		"at least 0.4  met\n",
		"at least 0.4  NOT met\n",
		"Note: not measured: cold start, ms (weir)\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("text: got\n%s\nwant a line %q", b.String(), want)
		}
	}
}

func TestReportJSON(t *testing.T) {
	t.Parallel()
	r := sample()
	var b strings.Builder
	must.Do(t, r.writeJSON(&b))
	var back findings
	if err := json.Unmarshal([]byte(b.String()), &back); err != nil {
		t.Fatalf("JSON: got %v for %s", err, b.String())
	}
	got := back.find("throughput", onCompletions, figRatio)
	must.Equal(t, got, &stat{Median: 0.42, Min: 0.3, Max: 0.5, Rounds: 3}, "figure read back")
}
