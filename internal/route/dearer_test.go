package route_test

import (
	"fmt"
	"testing"
	"time"

	"weir/internal/llm"
	"weir/internal/route"
)

// TestDearerSeller checks that a target's charge above its price counts as the margin of its price for an hour, the
// highest of several, and never less than the price's own.
func TestDearerSeller(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]route.Alias{"all": {Targets: []string{"a/m", "b/m"}}}, 0)
	targets, err := w.table.Targets(nil, "all", "")
	if err != nil {
		t.Fatal(err)
	}
	start := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for _, step := range []struct {
		after          time.Duration
		told, computed llm.Money // of the first target; 0 for none
		want           int64     // thousandths
	}{
		{0, 0, 0, 1000},
		{time.Second, 1000, 1000, 1000},
		{2 * time.Second, 300, 1000, 1000},
		{3 * time.Second, 5, 0, 1000}, // the factor is unknown
		{4 * time.Second, 2000, 1000, 2250},
		{5 * time.Second, 3270, 1000, 3750},
		{6 * time.Second, 1100, 1000, 3750},
		{time.Hour + 5*time.Second, 0, 0, 1000},
		{time.Hour + 6*time.Second, 1100, 1000, 1250},
		{time.Hour + 7*time.Second, llm.MaxCost, 1, 100_000},
	} {
		now := start.Add(step.after)
		w.table.Charged("a", "m", step.told, step.computed, now)
		first, second := w.table.Price(&targets[0], now), w.table.Price(&targets[1], now)
		if got := first.Margin(); got != step.want || second.Margin() != 1000 {
			t.Errorf("after %s, $%s for $%s: got %d thousandths, and %d of another target; want %d and 1000", step.after, step.told,
				step.computed, got, second.Margin(), step.want)
		}
	}
	for i := range 5000 { // the number of stored ones is bounded
		w.table.Charged("a", fmt.Sprint("m", i), 2, 1, start)
	}
}
