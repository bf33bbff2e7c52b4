package plan

import (
	"cmp"
	"slices"

	"weir/internal/llm"
)

// comparison compares the present state with the planned one.
type comparison struct {
	options   *Options
	now, then *replay
	rows      map[rowKey]*Row
	result    Result
}

// rowKey identifies the account and the key of a row.
type rowKey struct{ account, key string }

// request replays a request.
func (c *comparison) request(r request) {
	first := r.first()
	if c.result.From.IsZero() {
		c.result.From = first.Arrived
	}
	c.result.To = first.Arrived
	left := 3 // both replays, and this call
	certain := c.then.isCertain(first.Account, first.Arrived) && c.now.isCertain(first.Account, first.Arrived)
	var now, then *outcome
	over := func() {
		if left--; left == 0 {
			c.decided(now, then, certain)
		}
	}
	now, then = c.now.admit(r, over), c.then.admit(r, over)
	over()
}

// decided counts a request that has ended in both replays.
func (c *comparison) decided(now, then *outcome, certain bool) {
	first := then.request.first()
	d := Decision{
		Request: first.ID.Request.String(), Account: first.Account, Key: first.Key, Model: first.Requested,
		Refused: then.refused, Planned: then.charge,
	}
	for i := range then.request {
		d.Cost += then.request[i].Charge()
	}
	if then.target != nil && then.refused == NotRefused {
		d.Target = then.target.FullName()
	}
	// A request that was served but would be refused under the present state was decided under another state.
	d.Estimated = !certain || then.estimated || now.refused != NotRefused
	k := rowKey{first.Account, first.Key}
	if c.rows[k] == nil {
		c.rows[k] = &Row{Account: first.Account, Key: first.Key}
	}
	for _, row := range []*Row{c.rows[k], &c.result.Total} {
		row.add(&d, now.refused != NotRefused)
	}
	if c.options.Decided != nil {
		c.options.Decided(&d)
	}
}

func (r *Row) add(d *Decision, refusedNow bool) {
	r.Requests++
	if d.Refused != NotRefused {
		if r.Refused == nil {
			r.Refused = map[Refusal]int64{}
		}
		r.Refused[d.Refused]++
	}
	for count, is := range map[*int64]bool{
		&r.RefusedNow: refusedNow, &r.Elsewhere: d.Target != "", &r.Estimated: d.Estimated,
	} {
		if is {
			*count++
		}
	}
	r.Cost = min(llm.MaxCost, r.Cost) + min(llm.MaxCost, d.Cost)
	r.Planned = min(llm.MaxCost, r.Planned) + min(llm.MaxCost, d.Planned)
}

// done returns the result of all requests.
func (c *comparison) done(cut bool) Result {
	c.result.Cut = cut
	for _, row := range c.rows {
		if a := c.options.Now.Accounts[row.Account]; a != nil {
			row.AccountName = a.Name
		}
		if k := c.options.Now.Keys[row.Key]; k != nil {
			row.KeyLabel = k.Label
		}
		c.result.Rows = append(c.result.Rows, *row)
	}
	slices.SortFunc(c.result.Rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Account, b.Account), cmp.Compare(a.Key, b.Key))
	})
	return c.result
}
