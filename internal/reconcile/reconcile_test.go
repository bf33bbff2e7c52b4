package reconcile_test

import (
	"testing"

	"weir/internal/llm"
	"weir/internal/reconcile"
)

// TestCompareNamesEachDifference checks that each kind of difference is named, and nothing else.
func TestCompareNamesEachDifference(t *testing.T) {
	t.Parallel()
	type (
		u = reconcile.Usage
		o = reconcile.Ours
	)
	const monday, tuesday, thursday = "2026-11-23", "2026-11-24", "2026-11-26"
	at := func(day, model string) reconcile.Place { return reconcile.Place{Day: day, Model: model} }
	one := o{Usage: u{1000, 200, 50}, Cost: 9 * llm.USD}
	unsure := one
	unsure.Uncertain, unsure.Unseen = 2*llm.USD, true
	priced := unsure
	priced.Price = llm.Price{Version: "v", Rates: llm.Rates{llm.Input: 20_000_000_000, llm.CacheRead: 10_000_000_000, llm.Output: 100_000_000_000}} // 2, 1 and 10 cents
	for name, tt := range map[string]struct {
		ours  map[reconcile.Place]o
		usage map[reconcile.Place]u
		costs map[reconcile.Place]llm.Money
		want  map[reconcile.Place]reconcile.Finding
	}{
		"the same": {
			map[reconcile.Place]o{at(monday, "m"): one},
			map[reconcile.Place]u{at(monday, "m"): one.Usage},
			map[reconcile.Place]llm.Money{at(monday, "m"): 9 * llm.USD},
			map[reconcile.Place]reconcile.Finding{at(monday, "m"): reconcile.Agrees},
		},
		"no costs": {
			map[reconcile.Place]o{at(monday, "m"): one},
			map[reconcile.Place]u{at(monday, "m"): one.Usage},
			nil,
			map[reconcile.Place]reconcile.Finding{at(monday, "m"): reconcile.Agrees},
		},
		"the name with a day": {
			map[reconcile.Place]o{at(monday, "m"): one, at(monday, "n"): one},
			map[reconcile.Place]u{at(monday, "m-2026-08-07"): {400, 0, 50}, at(monday, "m"): {600, 200, 0}, at(monday, "n-20260807"): one.Usage},
			nil,
			map[reconcile.Place]reconcile.Finding{at(monday, "m"): reconcile.Agrees, at(monday, "n"): reconcile.Agrees},
		},
		"rounded": {
			map[reconcile.Place]o{at(monday, "m"): one},
			map[reconcile.Place]u{at(monday, "m"): one.Usage},
			map[reconcile.Place]llm.Money{at(monday, "m"): 9*llm.USD - llm.USD/100},
			map[reconcile.Place]reconcile.Finding{at(monday, "m"): reconcile.Rounded},
		},
		"another price": {
			map[reconcile.Place]o{at(monday, "m"): one},
			map[reconcile.Place]u{at(monday, "m"): one.Usage},
			map[reconcile.Place]llm.Money{at(monday, "m"): 8 * llm.USD},
			map[reconcile.Place]reconcile.Finding{at(monday, "m"): reconcile.Priced},
		},
		"no price": {
			map[reconcile.Place]o{at(monday, "m"): {Usage: one.Usage, Unpriced: true}, at(monday, "n"): {Usage: one.Usage, Unpriced: true}},
			map[reconcile.Place]u{at(monday, "m"): one.Usage, at(monday, "n"): {1001, 200, 50}},
			map[reconcile.Place]llm.Money{at(monday, "m"): llm.USD, at(monday, "n"): llm.USD},
			map[reconcile.Place]reconcile.Finding{at(monday, "m"): reconcile.Unpriced, at(monday, "n"): reconcile.More},
		},
		"midnight": {
			map[reconcile.Place]o{at(monday, "m"): one, at(tuesday, "m"): one, at(thursday, "m"): one},
			map[reconcile.Place]u{at(monday, "m"): {900, 100, 50}, at(tuesday, "m"): {1100, 300, 50}, at(thursday, "m"): one.Usage},
			nil,
			map[reconcile.Place]reconcile.Finding{at(monday, "m"): reconcile.Midnight, at(tuesday, "m"): reconcile.Midnight, at(thursday, "m"): reconcile.Agrees},
		},
		"two days that are not one after the other": {
			map[reconcile.Place]o{at(tuesday, "m"): one, at(thursday, "m"): one},
			map[reconcile.Place]u{at(tuesday, "m"): {900, 200, 50}, at(thursday, "m"): {1100, 200, 50}},
			nil,
			map[reconcile.Place]reconcile.Finding{at(tuesday, "m"): reconcile.Less, at(thursday, "m"): reconcile.More},
		},
		"unseen": {
			map[reconcile.Place]o{at(monday, "m"): unsure, at(tuesday, "m"): unsure, at(thursday, "m"): unsure},
			map[reconcile.Place]u{at(monday, "m"): {1000, 200, 80}, at(tuesday, "m"): {1000, 200, 80}, at(thursday, "m"): one.Usage},
			map[reconcile.Place]llm.Money{at(monday, "m"): 10 * llm.USD, at(tuesday, "m"): 12 * llm.USD, at(thursday, "m"): 11 * llm.USD},
			map[reconcile.Place]reconcile.Finding{at(monday, "m"): reconcile.Unseen, at(tuesday, "m"): reconcile.More, at(thursday, "m"): reconcile.Unseen},
		},
		"unseen, and no costs": {
			map[reconcile.Place]o{at(monday, "m"): priced, at(tuesday, "m"): priced, at(thursday, "m"): unsure, at(monday, "n"): priced, at(tuesday, "n"): priced},
			map[reconcile.Place]u{
				at(monday, "m"): {1000, 200, 70}, at(tuesday, "m"): {1000, 200, 71}, at(thursday, "m"): {1000, 200, 51},
				at(monday, "n"): {1150, 300, 60}, at(tuesday, "n"): {1150, 200, 60},
			},
			nil,
			map[reconcile.Place]reconcile.Finding{
				at(monday, "m"): reconcile.Unseen, at(tuesday, "m"): reconcile.More, at(thursday, "m"): reconcile.More,
				at(monday, "n"): reconcile.More, at(tuesday, "n"): reconcile.More,
			},
		},
		"unseen, and less cost": {
			map[reconcile.Place]o{at(monday, "m"): priced},
			map[reconcile.Place]u{at(monday, "m"): {90_000, 200, 50}},
			map[reconcile.Place]llm.Money{at(monday, "m"): -llm.USD},
			map[reconcile.Place]reconcile.Finding{at(monday, "m"): reconcile.More},
		},
		"others": {
			map[reconcile.Place]o{at(monday, "m"): one, at(monday, "n"): one, at(monday, "c"): one, at(monday, "x"): one},
			map[reconcile.Place]u{at(monday, "m"): {1001, 200, 50}, at(monday, "c"): {1000, 0, 50}, at(monday, "x"): {900, 200, 60}, at(monday, "new"): {1, 0, 0}},
			nil,
			map[reconcile.Place]reconcile.Finding{
				at(monday, "m"): reconcile.More, at(monday, "n"): reconcile.Less, at(monday, "c"): reconcile.Cached, at(monday, "x"): reconcile.Mixed,
				at(monday, "new"): reconcile.More,
			},
		},
	} {
		rows := reconcile.Compare(tt.ours, &reconcile.Theirs{Usage: tt.usage, Costs: tt.costs})
		if len(rows) != len(tt.want) {
			t.Errorf("%s: got %d rows, want %d", name, len(rows), len(tt.want))
		}
		for _, r := range rows {
			if r.Finding != tt.want[r.Place] {
				t.Errorf("%s: %v: got %q, want %q", name, r.Place, r.Finding, tt.want[r.Place])
			}
		}
	}
}
