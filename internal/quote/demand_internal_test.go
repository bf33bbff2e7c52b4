package quote

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"weir/internal/llm"
	"weir/internal/quotetest"
)

// demands generates any possible demand.
func demands() *rapid.Generator[Demand] {
	return rapid.Custom(func(t *rapid.T) Demand {
		rate := rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(0, 1<<20), rapid.Int64Range(0, 1<<50))
		rates := func() (r llm.Rates) {
			for c := range r {
				r[c] = llm.RateOf(rate.Draw(t, "rate"))
			}
			return r
		}
		k := Demand{Price: llm.Price{Version: "v", Rates: rates()}, answers: rapid.Int64Range(1, 128).Draw(t, "answers"), open: true}
		for above := int64(0); rapid.Bool().Draw(t, "tier"); {
			above += rapid.Int64Range(1, 300_000).Draw(t, "above")
			k.Price.Tiers = append(k.Price.Tiers, llm.Tier{Above: above, Rates: rates()})
		}
		k.fixed[llm.Input] = rapid.Int64Range(0, 1<<40).Draw(t, "input")
		k.fixed[llm.Output] = rapid.Int64Range(0, 1<<20).Draw(t, "foretold")
		k.fixed[llm.Searches] = rapid.Int64Range(0, 100).Draw(t, "searches")
		k.fixed[llm.Requests] = 1
		k.most = rapid.Int64Range(0, 1<<41).Draw(t, "most")
		k.least = min(leastOutput, k.most)
		return k
	})
}

// checkCaps checks that the cap of an amount is the largest whose bound is within it.
func checkCaps(t *rapid.T, capFor func(k *Demand, amount llm.Money) (int64, bool)) error {
	k := demands().Draw(t, "demand")
	least, most := k.Amounts()
	amount := rapid.OneOf(
		rapid.SampledFrom([]llm.Money{0, least - 1, least, most, most + 1, least + (most-least)/2}),
		rapid.Map(rapid.Int64Range(0, int64(llm.MaxCost)), func(n int64) llm.Money { return llm.Money(n) }),
	).Draw(t, "amount")
	limit, ok := capFor(&k, amount)
	switch {
	case ok != (least <= amount):
		return fmt.Errorf("an amount of %d for demands from %d: %t", amount, least, ok)
	case !ok:
		return nil
	case limit < k.least || limit > k.most:
		return fmt.Errorf("a cap of %d, beyond %d to %d", limit, k.least, k.most)
	}
	u := k.bound(limit)
	if bound := min(llm.MaxCost, k.Price.Bound(&u)); bound > amount {
		return fmt.Errorf("a cap of %d can cost %d, beyond %d", limit, bound, amount)
	}
	if u = k.bound(limit + 1); limit < k.most && min(llm.MaxCost, k.Price.Bound(&u)) <= amount {
		return fmt.Errorf("a cap of %d, while %d is within %d, too", limit, limit+1, amount)
	}
	return nil
}

func TestCapFor(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		if err := checkCaps(t, (*Demand).CapFor); err != nil {
			t.Fatal(err)
		}
	})
}

// TestCapForChecked is the negative control: caps that are one off are found.
func TestCapForChecked(t *testing.T) {
	t.Parallel()
	for _, off := range []int64{-1, 1} {
		found := false
		rapid.Check(t, func(t *rapid.T) {
			err := checkCaps(t, func(k *Demand, amount llm.Money) (int64, bool) {
				limit, ok := k.CapFor(amount)
				return limit + off, ok
			})
			found = found || err != nil
		})
		if !found {
			t.Errorf("caps that are %d off are not found", off)
		}
	}
}

// TestClientsCap checks that nothing is inserted if the client set a cap, and that an amount that does not cover it
// does not lower it.
func TestClientsCap(t *testing.T) {
	t.Parallel()
	q := newAsked(t, quotetest.Asked{ClientAPI: "openai", Body: `{"max_tokens":1000000,"messages":[{"role":"user","content":"Hi"}]}`})
	k := q.demandOf(Coarse)
	least, most := k.Amounts()
	if least != most {
		t.Errorf("reservations from %d to %d, want one amount", least, most)
	}
	if limit, ok := k.CapFor(most); limit != 0 || !ok {
		t.Errorf("all that it can cost: a cap of %d, %t, want none, and that it is made", limit, ok)
	}
	if limit, ok := k.CapFor(most - 1); limit != 0 || ok {
		t.Errorf("less than it can cost: a cap of %d, %t, want that it is not made", limit, ok)
	}
}
