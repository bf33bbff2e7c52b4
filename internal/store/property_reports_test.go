package store_test

import (
	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/report"
)

// checkOverview compares the sums of an overview and of the keys with the uses.
func (m *machine) checkOverview(rt *rapid.T, account string, uses *report.UsesPage) {
	q := report.OverviewQuery{Account: account, From: "2026-11-18", To: "2026-11-23", Models: 1000}
	v, err := m.store.Reports.Overview(rt.Context(), q)
	if err != nil {
		rt.Fatal(err)
	}
	var days, models report.Sum
	for i := range v.Days {
		days.Add(&v.Days[i].Sum)
	}
	for i := range v.Models {
		models.Add(&v.Models[i].Sum)
	}
	if days != v.Total || usedOf(&models) != usedOf(&v.Total) { // unused models are left out
		rt.Fatalf("overview of %s: got %+v in all, the days %+v, the models %+v", account, v.Total, days, models)
	}
	for i := range uses.Uses {
		u := &uses.Uses[i]
		for d := range v.Days {
			if v.Days[d].Date == u.Date {
				v.Days[d].Usage.Add(negative(u.Usage))
				v.Days[d].Requests, v.Days[d].Cost = v.Days[d].Requests-u.Requests, v.Days[d].Cost-u.Cost
			}
		}
	}
	for d := range v.Days {
		if s := &v.Days[d].Sum; s.Requests != 0 || s.Cost != 0 || !s.Usage.IsZero() {
			rt.Fatalf("overview of %s on %s: got %+v more than the uses have", account, v.Days[d].Date, s)
		}
	}
	keys, err := m.store.Reports.KeySpend(rt.Context(), account, q.From, q.To, 1000)
	if err != nil {
		rt.Fatal(err)
	}
	got := report.Totals{Tokens: uses.Total.Tokens, Unpriced: uses.Total.Unpriced, Margin: uses.Total.Margin} // see checkKeys
	for _, k := range keys {
		got.Requests, got.Cost, got.Uncertain = got.Requests+k.Requests, got.Cost+k.Cost, got.Uncertain+k.Uncertain
	}
	if got != uses.Total {
		rt.Fatalf("keys of %s: got %+v, want %+v", account, got, uses.Total)
	}
	if want := m.speed(account); v.Total.Speed != want {
		rt.Fatalf("speed of %s: got %v, want %v", account, v.Total.Speed, want)
	}
}

// usedOf returns the usage in a sum.
func usedOf(s *report.Sum) report.Totals {
	t := report.Totals{Tokens: s.Usage.TotalTokens(), Requests: s.Requests, Cost: s.Cost, Uncertain: s.Uncertain, Margin: s.Margin}
	t.MarginUnpriced = 0
	return t
}

// checkExplained checks that the explanations of an account's days add up to their sums; and without corrections and
// deleted explanations, that each follows from its own price.
func (m *machine) checkExplained(rt *rapid.T, account string, uses *report.UsesPage) {
	got := map[[2]string]*report.Use{}
	err := m.store.Reports.Explain(rt.Context(), report.ExportQuery{Account: account}, func(x *report.Explanation) error {
		entry := [2]string{x.Date, x.Model}
		if got[entry] == nil {
			got[entry] = &report.Use{Date: x.Date, Model: x.Model}
		}
		u := got[entry]
		u.Usage.Add(&x.Usage)
		u.Margin.Margin, u.MarginUncertain = u.Margin.Margin+x.Margin.Margin, u.MarginUncertain+x.MarginUncertain
		u.MarginUnpriced += x.MarginUnpriced
		u.Unseen += x.Estimated + x.Unknown
		u.Requests, u.Cost, u.Uncertain, u.Unpriced = u.Requests+x.Requests, u.Cost+x.Cost, u.Uncertain+x.Uncertain, u.Unpriced+x.Unpriced
		if x.Account != account || (x.Price == "v1") != (x.Terms != "") {
			rt.Fatalf("explained for %s: got %+v", account, x)
		}
		return nil
	})
	if err != nil || len(got) != len(uses.Uses) {
		rt.Fatalf("explained for %s: got %d entries, %v; want %d", account, len(got), err, len(uses.Uses))
	}
	for i := range uses.Uses {
		u := uses.Uses[i]
		u.Attempts, u.Errors, u.Missed = 0, 0, report.Missed{} // explanations do not have them
		if diff := gocmp.Diff(got[[2]string{u.Date, u.Model}], &u); diff != "" {
			rt.Fatalf("explained for %s on %s (-got +want):\n%s", account, u.Date, diff)
		}
	}
}

func negative(u llm.Usage) *llm.Usage {
	for c := range u {
		u[c] = -u[c]
	}
	return &u
}

// speed counts the model's times to first token.
func (m *machine) speed(account string) (s report.Speed) {
	for _, id := range m.settled {
		if e := m.attempts[id]; e.Account == account && e.Outcome == ledger.OutcomeOK && e.FirstToken > 0 {
			s.Count(e.FirstToken)
		}
	}
	return s
}

// checkRequests compares the cost of the stored requests, read page by page, with the model, and with the sum of their
// lines. It returns the number of their attempts.
func (m *machine) checkRequests(rt *rapid.T, account string) (attempts int) {
	q := report.RequestsQuery{Account: account, Limit: 3}
	for more := true; more; {
		page, next, err := m.store.Reports.Requests(rt.Context(), q)
		if err != nil {
			rt.Fatal(err)
		}
		for i := range page {
			m.checkRequest(rt, account, &page[i])
			attempts += page[i].Attempts
		}
		q.After, more = next, next != report.Cursor{}
	}
	return attempts
}

func (m *machine) checkRequest(rt *rapid.T, account string, r *report.Request) {
	d, there, err := m.store.Reports.Request(rt.Context(), account, r.ID)
	if err != nil || !there {
		rt.Fatalf("request %s: got %v, %v; want it", r.ID, there, err)
	}
	if diff := gocmp.Diff(d.Request, *r); diff != "" {
		rt.Fatalf("request %s in short (-alone +in the list):\n%s", r.ID, diff)
	}
	var lines, want llm.Money
	var unpriced, bought bool // whether a part of the charge, and of the cost, is unpriced
	for i := range d.Parts {
		for _, l := range d.Parts[i].Lines {
			lines += l.Amount
		}
		e := m.attempts[d.Parts[i].ID]
		if e.Outcome != "" {
			charged, _ := m.charge(&e)
			want += charged
			ofCost, ofCharge := m.marks(&e)
			unpriced, bought = unpriced || ofCharge, bought || ofCost
			if of, _ := d.Parts[i].LeftUnpriced(); (of != 0) != ofCharge {
				rt.Fatalf("attempt %s for its account: got %v without a price, want %t", e.ID, of.Names(), ofCharge)
			}
		}
		if p := &d.Parts[i]; p.Terms != nil || p.Settlement.Margin != 0 || p.Price.Version == "v1" && e.Terms != nil {
			rt.Fatalf("request %s: got the terms or the price of its cost", r.ID)
		}
	}
	full, _, err := m.store.Reports.RequestAtCost(rt.Context(), account, r.ID)
	if err != nil || full.Cost != r.Cost || full.Margin != r.Margin {
		rt.Fatalf("request %s at cost: got %+v, %v", r.ID, full.Request, err)
	}
	if (r.Unpriced != 0) != unpriced || (r.PurchaseUnpriced != 0) != bought {
		rt.Fatalf("request %s: got %v and %v without a price, want %t, %t", r.ID, r.Unpriced.Names(), r.PurchaseUnpriced.Names(), unpriced, bought)
	}
	if r.Cost != want || lines != want {
		rt.Fatalf("request %s: got a cost of %s, lines of %s; want %s", r.ID, r.Cost, lines, want)
	}
}
