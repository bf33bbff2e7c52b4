package store

import (
	"context"

	"weir/internal/ledger"
	"weir/internal/llm"
)

// rows adds up a day's rows, and checks the cost of each.
func (v *verifier) rows(ctx context.Context, day int64) (buckets, error) {
	hours := buckets{}
	err := walk(ctx, v.tx, ofDay(day), func(r *storedRow) error {
		e := &r.Entry
		if v.result.Rows++; v.result.Rows%progressRows == 0 {
			v.progress(v.result.Rows, max(v.total, v.result.Rows))
		}
		if e.Outcome == ledger.OutcomeOpen {
			v.result.Open++
			return nil
		}
		v.result.Unknown += number(e.Provenance == ledger.Unknown)
		hours.addEntry(e)
		v.parts.addParts(e)
		v.cost(e)
		v.margin(e)
		v.state(r)
		if _, cost := (&ledger.Row{Entry: *e, Corrections: v.corrected[e.ID]}).Corrected(); cost < 0 {
			b := bucketOf(&e.Attempt)
			v.differ("row", &b, "corrected cost of attempt "+e.ID.String()+", which must not be negative", 0,
				int64(cost))
		}
		return nil
	})
	return hours, err
}

// state compares whether a row is unresolved with its numbers and corrections.
func (v *verifier) state(r *storedRow) {
	want := stateOf(&ledger.Row{Entry: r.Entry, Corrections: v.corrected[r.ID]})
	if r.data == nil && want < stateUnresolved { // rows of the old form have no other state
		want = stateKnown
	}
	if want != r.state {
		b := bucketOf(&r.Attempt)
		v.differ("row", &b, "state of attempt "+r.ID.String(), want, r.state)
	}
}

// cost compares a row's cost with the cost at its price.
func (v *verifier) cost(e *ledger.Entry) {
	want, what := llm.Money(0), "cost of attempt "+e.ID.String()
	price, missing := &e.Price, false
	if e.Price.Known() {
		price, missing = v.book[e.Price.Version], v.book[e.Price.Version] == nil
	}
	if missing {
		what += ", whose price " + e.Price.Version + " is missing"
	} else {
		want = min(price.Cost(&e.Usage, e.Tier), llm.MaxCost)
	}
	switch {
	case e.Provenance == ledger.Unknown:
		want = e.Hold
	case e.Billed && e.ProviderCost != nil:
		want, missing = *e.ProviderCost, false
	}
	if missing || want != e.Cost {
		b := bucketOf(&e.Attempt)
		v.differ("row", &b, what, int64(want), int64(e.Cost))
	}
}

// margin compares a row's margin with the margin by its price list.
func (v *verifier) margin(e *ledger.Entry) {
	if e.Terms == nil && e.Margin == 0 && e.MarginUncertain == 0 && e.ChargeUnpriced == nil {
		return
	}
	want, a := e.Settlement, e.Attempt
	if full := v.book[a.Price.Version]; full != nil {
		a.Price = *full
	}
	if a.Terms.Own() {
		if full := v.book[a.Terms.Price.Version]; full != nil {
			a.Terms.Price = *full // only for this row
		}
	}
	if e.ChargeUnpriced == nil && a.Terms.Own() {
		a.SetChargeBefore(&want)
	} else {
		a.SetCharge(&want)
	}
	b := bucketOf(&e.Attempt)
	if e.ChargeUnpriced != nil && want.UnpricedCharge() != *e.ChargeUnpriced {
		v.differ("row", &b, "number of classes without a price in the charge of attempt "+e.ID.String(),
			int64(len(want.UnpricedCharge().Names())), int64(len(e.ChargeUnpriced.Names())))
	}
	for _, of := range []struct {
		what      string
		want, got llm.Money
	}{{"margin", want.Margin, e.Margin}, {"uncertain margin", want.MarginUncertain, e.MarginUncertain}} {
		if of.want != of.got {
			v.differ("row", &b, of.what+" of attempt "+e.ID.String(), int64(of.want), int64(of.got))
		}
	}
}
