//go:build unix

package crashtest_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"weir/internal/ledger"
	"weir/internal/llm"
)

// longestLeave is the longest time after its client disconnected that an attempt may be open at a kill, on a busy
// machine.
const longestLeave = 10 * time.Second

// clock formats a time for findings.
func clock(at time.Time) string { return at.UTC().Format("15:04:05.000000") }

// receipt checks that the ledger agrees with the client's record.
func (v *verdict) receipt(c *receipt) {
	if c.request == "" {
		return
	}
	id, err := uuid.Parse(c.request)
	if err != nil {
		v.add(untrue, "X-Request-Id %q: %v", c.request, err)
		return
	}
	rows := v.requests[id]
	for _, r := range rows {
		if r.account != c.member.account || r.key != c.member.key || r.requested != c.model || r.stream != c.stream {
			v.add(misattributed, "%s: account %s, key %s, requested %q, stream %t: not those of %s", r, r.account, r.key, r.requested, r.stream, c)
		}
	}
	v.leaked(c, rows)
	switch {
	case c.counted:
		if len(rows) > 0 {
			v.add(untrue, "%s: %s", c, rows[0])
		}
	case c.whole && c.status == http.StatusOK:
		v.answered(c, rows)
	case c.whole || c.failed:
		v.refused(c, rows)
	case c.pieces > 0:
		v.partly(c, rows)
	}
}

// answered checks a whole answer: its attempt was settled before its last byte, so no kill can have made it unknown.
func (v *verdict) answered(c *receipt, rows []*row) {
	if len(rows) == 0 || len(rows) != c.attempts {
		v.add(untrue, "%s: %d rows", c, len(rows))
		return
	}
	r := rows[len(rows)-1]
	want, reported := ledger.Exact, true
	if a := v.attempts[r.id]; len(a.served) == 1 && a.served[0].Reported == nil {
		want, reported = ledger.Estimated, false
	}
	if r.outcome != ledger.OutcomeOK || r.provenance != want {
		v.add(untrue, "%s: %s, want ok/%s", c, r, want)
	}
	if u := c.usage; u != nil && (u.Prompt != r.usage.InputTokens() || u.Completion != r.usage.OutputTokens() || u.Total != r.usage.TotalTokens()) {
		v.add(untrue, "%s: told %+v: %s", c, *u, r)
	}
	if c.usage == nil && (c.clientAPI == nativeAPI || reported && c.tellsUsage()) {
		v.add(untrue, "%s: told no usage: %s", c, r)
	}
	v.toldCost(c, rows)
}

// toldCost compares the cost that the client received, if any, with the cost of all attempts.
func (v *verdict) toldCost(c *receipt, rows []*row) {
	var sum llm.Money
	priced := true
	for _, r := range rows {
		sum += r.cost
		priced = priced && r.price != ""
	}
	if c.usage == nil && c.cost == nil {
		return // a stream whose client did not request usage
	}
	if c.cost == nil && slices.ContainsFunc(rows[:len(rows)-1], c.readsOn) {
		return // it was not known yet
	}
	if (c.cost != nil) != priced || priced && *c.cost != sum {
		v.add(untrue, "%s: told a cost of %v, the rows have $%s, priced %t", c, c.cost, sum, priced)
	}
}

// leaked finds an attempt that was still open at a kill although its client had left long before, and whose answer
// nobody reads to its end.
func (v *verdict) leaked(c *receipt, rows []*row) {
	if drains := c.member.onDisconnect == "drain" || c.member.onDisconnect == "default" && !c.stream; !c.left || drains {
		return
	}
	for _, r := range rows {
		i := lifeOf(v.books.lives, r)
		if r.outcome == ledger.OutcomeUnknown && i >= 0 && v.books.lives[i].ended.Sub(c.ended) > longestLeave {
			v.add(unexplained, "%s: its client left at %s, the kill came at %s", r, clock(c.ended), clock(v.books.lives[i].ended))
		}
	}
}

// refused checks a failed request: all its attempts were settled before, except for one whose late answer is read on.
func (v *verdict) refused(c *receipt, rows []*row) {
	if c.whole && len(rows) != c.attempts {
		v.add(untrue, "%s: %d rows", c, len(rows))
	}
	for _, r := range rows {
		if r.outcome == ledger.OutcomeOK || r.outcome == ledger.OutcomeUnknown && !c.readsOn(r) {
			v.add(untrue, "%s: %s", c, r)
		}
	}
}

// readsOn reports whether an attempt may have continued after its request: of a whole answer that begins late or never,
// for an account that does not cancel these. On a busy machine an answer of any model may be late.
func (got *receipt) readsOn(r *row) bool {
	late := got.status == http.StatusGatewayTimeout || strings.Contains(r.model, "ttft=") || strings.Contains(r.model, "fault=silence")
	return late && !got.stream && got.member.onDisconnect != "cancel"
}

// partly checks a partial answer: at least its pieces were served.
func (v *verdict) partly(c *receipt, rows []*row) {
	if len(rows) == 0 {
		v.add(untrue, "%s: no row", c)
		return
	}
	got := int64(0) // another attempt may have repeated the pieces of an earlier one
	for _, r := range rows {
		got += r.usage.OutputTokens()
	}
	if got+slack(c.pieces) < c.pieces {
		v.add(underEstimate, "%s: %d tokens of output in %d rows, the client got %d pieces", rows[len(rows)-1], got, len(rows), c.pieces)
	}
}

// replays checks that a completed answer to an Idempotency-Key is replayed from then on, and that none counts as still
// running: its clients repeat the request only after the end of the first answer.
func (v *verdict) replays() {
	first := map[string]*receipt{}
	for i := range v.books.receipts {
		c := &v.books.receipts[i]
		if c.key == "" || !c.whole {
			continue
		}
		before := first[c.key]
		switch {
		case before == nil && c.status == http.StatusOK:
			first[c.key] = c
		case c.stream && c.status == http.StatusConflict:
		case v.books.cut && c.status == http.StatusServiceUnavailable: // every attempt to look up the key was cut
		case before == nil && c.status != http.StatusConflict:
		case before == nil:
			v.add(rereplied, "%s: nothing runs with this key", c)
		case c.stream || !c.replayed || c.request != before.request || !sameTokens(c.usage, before.usage):
			v.add(rereplied, "%s: the first answer was %s", c, before)
		}
	}
}

func sameTokens(a, b *tokens) bool {
	return (a == nil) == (b == nil) && (a == nil || a.Prompt == b.Prompt && a.Completion == b.Completion && a.Total == b.Total)
}

// uses checks that the reports equal the sums of the rows, by account, date and model.
func (v *verdict) uses() {
	type bucket struct{ account, date, model string }
	sums := map[bucket]use{}
	for i := range v.books.rows {
		r := &v.books.rows[i]
		arrived := time.Unix(r.id.Request.Time().UnixTime()).UTC() // the date of a request is the one of its arrival
		at := bucket{r.account, arrived.Format(time.DateOnly), r.model}
		u := sums[at]
		u.account, u.Date, u.Model = at.account, at.date, at.model
		u.Tokens += r.usage.TotalTokens()
		u.Cost += r.cost
		u.Unpriced = u.Unpriced || r.price == "" && r.usage.TotalTokens() > 0
		if r.counts {
			u.Requests++
		}
		sums[at] = u
	}
	for _, got := range v.books.uses {
		at := bucket{got.account, got.Date, got.Model}
		if want := sums[at]; got != want || got.isNothing() {
			v.add(unsummed, "got %+v, want %+v", got, want)
		}
		delete(sums, at)
	}
	for _, want := range sums {
		if want.isNothing() { // it leaves no entry
			continue
		}
		v.add(unsummed, "got no entry, want %+v", want)
	}
}

// isNothing reports whether nothing was used, by no request that counts.
func (u *use) isNothing() bool { return u.Requests == 0 && u.Tokens == 0 && u.Cost == 0 }

// totals checks that the reports count every request once, if the provider saw it or a kill leaves that unknown.
func (v *verdict) totals() {
	var got, sum int64
	for i := range v.books.uses {
		got += v.books.uses[i].Requests
	}
	for _, n := range v.books.totals {
		sum += n
	}
	if want := int64(v.reached + v.unseen); got != want || sum != want {
		v.add(miscounted, "/v1/uses: got %d requests in its entries, %d in its totals, want %d that the provider saw and %d that a kill came before",
			got, sum, v.reached, v.unseen)
	}
}

// rest checks the faults that the gateway itself reports.
func (v *verdict) rest() {
	got := &v.books.verified
	for _, d := range got.Differences {
		v.add(unverified, "%v", d)
	}
	if got.Gap != 0 || got.Open != 0 || got.Rows != int64(len(v.books.rows)) {
		v.add(unverified, "gap %d bytes, %d open, %d rows, want none and %d rows", got.Gap, got.Open, got.Rows, len(v.books.rows))
	}
	for _, line := range v.books.logged {
		v.add(complained, "%s", line)
	}
}

// String formats the receipt for findings.
func (got *receipt) String() string {
	return fmt.Sprintf("client %s: POST %s %s stream %t key %q at %s: status %d, whole %t, failed %t, left %t, %d pieces, %d attempts",
		got.request, got.clientAPI, got.model, got.stream, got.key, clock(got.began),
		got.status, got.whole, got.failed, got.left, got.pieces, got.attempts)
}
