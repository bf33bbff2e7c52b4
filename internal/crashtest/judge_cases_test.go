//go:build unix

package crashtest_test

import (
	"encoding/binary"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"weir/internal/ledger"
	"weir/internal/llm"
)

// Indexes of the attempts in soundBooks.
const (
	whole = iota
	broken
	killed
)

// soundBooks returns the books of three requests: a complete one, one that broke off, and one that a kill interrupted.
func soundBooks() *books {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	at := func(seconds float64) time.Time { return noon.Add(time.Duration(seconds * float64(time.Second))) }
	m := &member{account: "a1", key: "k1"}
	price := llm.Price{Version: "v", Rates: llm.Rates{llm.Input: 1_000_000, llm.Output: 2_000_000}}
	b := &books{
		prices: map[string]llm.Price{"house/chat": price},
		lives: []life{
			{began: at(0), ready: at(0.1), ended: at(5), killed: true},
			{began: at(6), ready: at(6.1), ended: at(10)},
		},
	}
	for i, end := range []struct {
		outcome    ledger.Outcome
		provenance ledger.Provenance
		metered    classes
		served     classes
	}{
		whole:  {ledger.OutcomeOK, ledger.Exact, classes{llm.Input: 10, llm.Output: 30, llm.Requests: 1}, classes{llm.Input: 10, llm.Output: 30}},
		broken: {ledger.OutcomeCut, ledger.Estimated, classes{llm.Input: 9, llm.Output: 7, llm.Requests: 1}, classes{llm.Input: 10, llm.Output: 8}},
		killed: {ledger.OutcomeUnknown, ledger.Unknown, classes{llm.Input: 100, llm.Output: 500, llm.Requests: 1}, classes{llm.Input: 10, llm.Output: 20}},
	} {
		id := ledger.AttemptID{Request: requestID(at(4), byte(i+1)), N: 1}
		usage := llm.Usage(end.metered)
		b.rows = append(b.rows, row{
			id: id, opened: at(4), duration: 2010 * time.Millisecond, account: m.account, key: m.key,
			requested: "house/chat", model: "house/chat", price: "v", outcome: end.outcome, provenance: end.provenance,
			counts: true, stream: true, usage: usage, cost: price.Cost(&usage, ""),
		})
		if end.outcome == ledger.OutcomeCut {
			b.rows[i].atMost = price.Cost(&llm.Usage{llm.Input: 10, llm.Output: 40}, "")
		}
		b.served = append(b.served, served{Attempt: id.String(), Dialect: "openai", Model: "chat", Stream: true, Usage: end.served})
		b.receipts = append(b.receipts, receipt{
			order:   order{member: m, clientAPI: nativeAPI, model: "house/chat", stream: true},
			request: id.Request.String(), status: http.StatusOK, attempts: 1, pieces: 5,
		})
	}
	b.served[whole].Reported = &b.served[whole].Usage
	first := &b.receipts[whole]
	first.whole, first.usage, first.cost, first.pieces = true, &tokens{Prompt: 10, Completion: 30, Total: 40}, &b.rows[whole].cost, 30
	b.uses = []use{{account: "a1", Date: "2026-11-21", Model: "house/chat", Requests: 3, Tokens: 656}}
	for i := range b.rows {
		b.uses[0].Cost += b.rows[i].cost
	}
	b.totals = []int64{3}
	b.verified = verification{Rows: 3, Unknown: 1}
	return b
}

// requestID returns a UUID of version 7 of that time (RFC 9562, 5.7).
func requestID(at time.Time, n byte) (id uuid.UUID) {
	binary.BigEndian.PutUint64(id[:], uint64(at.UnixMilli())<<16)
	id[6], id[8], id[15] = 0x70, 0x80, n
	return id
}

// TestJudgeFindsBrokenBooks breaks sound books in one way at a time, and expects a finding.
func TestJudgeFindsBrokenBooks(t *testing.T) {
	t.Parallel()
	if got := judge(soundBooks()).findings(); len(got) > 0 {
		t.Fatalf("sound books: got %q, want no findings", got)
	}
	late := soundBooks() // a whole answer of any model may be late, and continues after its client was refused
	c := &late.receipts[killed]
	late.rows[killed].stream, late.served[killed].Stream, c.stream, c.pieces = false, false, false, 0
	c.whole, c.status = true, http.StatusGatewayTimeout
	if got := judge(late).findings(); len(got) > 0 {
		t.Errorf("a kill while a late answer is read: got %q, want no findings", got)
	}
	if c.status = http.StatusBadGateway; judge(late).count(untrue) == 0 {
		t.Error("refused for another reason, and unknown: got no findings, want one")
	}
	unused := soundBooks() // an unused model without a price is not unpriced
	unused.rows = append(unused.rows, row{
		id: ledger.AttemptID{Request: requestID(unused.rows[0].opened, 9), N: 1}, opened: unused.rows[0].opened,
		account: "a1", key: "k1", requested: unpriced, model: unpriced, outcome: ledger.OutcomeRefused, provenance: ledger.Exact,
	})
	if got := judge(unused).found[unsummed]; len(got) > 0 {
		t.Errorf("nothing used of a model without a price: got %q, want no findings", got)
	}
	unused.uses = append(unused.uses, use{account: "a1", Date: "2026-11-21", Model: unpriced})
	if got := judge(unused).found[unsummed]; len(got) == 0 {
		t.Error("an entry without usage: got no findings, want one")
	}
	for _, c := range judgeCases() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := soundBooks()
			c.spoil(b)
			v := judge(b)
			if v.count(c.want) == 0 {
				t.Errorf("got %v, want %q among them", cmp.Diff(map[fault][]string{}, v.found), c.want)
			}
		})
	}
}

type judgeCase struct {
	name  string
	spoil func(b *books)
	want  fault
}

func judgeCases() []judgeCase {
	return []judgeCase{
		{"no row", func(b *books) { b.rows = b.rows[1:] }, lost},
		{"no row, of a request that was refused", func(b *books) {
			b.rows, b.served = b.rows[1:], b.served[1:]
			b.receipts[whole].status = http.StatusBadGateway
		}, untrue},
		{"first row of a fail-over missing", func(b *books) { b.rows[broken].id.N = 2 }, lost},
		{"two rows", func(b *books) { b.rows = append(b.rows, b.rows[whole]) }, doubled},
		{"served twice", func(b *books) { b.served = append(b.served, b.served[whole]) }, resent},
		{"never served", func(b *books) { b.served = b.served[1:] }, phantom},
		{"unknown without a kill", func(b *books) { b.lives[0].killed = false }, unexplained},
		{"unknown, opened between two processes", func(b *books) { b.rows[killed].opened = b.lives[0].ended.Add(time.Millisecond) }, unexplained},
		{"unknown, settled before the next start", func(b *books) { b.rows[killed].duration = time.Second }, unexplained},
		{"unknown, settled long after the next start", func(b *books) { b.rows[killed].duration = 3 * time.Second }, unexplained},
		{"unknown, its client long gone", func(b *books) {
			b.receipts[killed].left, b.receipts[killed].ended = true, b.lives[0].ended.Add(-2*longestLeave)
		}, unexplained},
		{"unknown, served above its bound", func(b *books) { b.served[killed].Usage[llm.Output] = 501 }, belowTruth},
		{"broken off, charged for more than its bound", func(b *books) { b.served[broken].Usage[llm.Output] = 41 }, belowTruth},
		{"the provider's own figure is more", func(b *books) { b.served[whole].Cost = llm.USD }, belowTruth},
		{"assumed, though the provider says no more", func(b *books) { b.rows[whole].provenance = ledger.Assumed }, inexact},
		{"one token more than reported", func(b *books) { b.rows[whole].usage[llm.Output]++ }, inexact},
		{"another class than reported", func(b *books) {
			b.rows[whole].usage[llm.Input]--
			b.rows[whole].usage[llm.CacheRead]++
		}, inexact},
		{"exact, though nothing was reported", func(b *books) { b.served[whole].Reported = nil }, inexact},
		{"estimated, though usage was reported", func(b *books) { b.rows[whole].provenance = ledger.Estimated }, inexact},
		{"one nano-dollar more", func(b *books) { b.rows[broken].cost++ }, mispriced},
		{"unknown, not at its bound's cost", func(b *books) { b.rows[killed].cost-- }, mispriced},
		{"a price where there is none", func(b *books) { delete(b.prices, "house/chat") }, mispriced},
		{"no input in an estimate", func(b *books) { b.rows[broken].usage[llm.Input] = 0 }, emptyEstimate},
		{"estimate too high", func(b *books) { b.rows[broken].usage[llm.Output] = 13 }, overEstimate},
		{"estimate below what the client got", func(b *books) { b.receipts[broken].pieces = 20 }, underEstimate},
		{"another key", func(b *books) { b.rows[whole].key = "k2" }, misattributed},
		{"another model", func(b *books) { b.served[whole].Model = "echo" }, misattributed},
		{"client was told other tokens", func(b *books) { b.receipts[whole].usage.Completion++ }, untrue},
		{"client was told another cost", func(b *books) { b.receipts[whole].cost = new(llm.Money) }, untrue},
		{"client was told no usage", func(b *books) { b.receipts[whole].usage = nil }, untrue},
		{"answered, and unknown", func(b *books) { b.receipts[killed].whole = true }, untrue},
		{"refused, and unknown", func(b *books) { b.receipts[killed].failed = true }, untrue},
		{"request not counted", func(b *books) { b.rows[whole].counts = false }, miscounted},
		{"total of another number of requests", func(b *books) { b.totals[0]++ }, miscounted},
		{"replay of another answer", func(b *books) {
			b.receipts[whole].key = "once"
			again := b.receipts[whole]
			again.request = b.receipts[broken].request
			again.stream, again.replayed = false, true
			b.receipts = append(b.receipts, again)
		}, rereplied},
		{"key that is blocked", func(b *books) {
			c := &b.receipts[broken]
			c.key, c.stream, c.whole, c.status = "once", false, true, http.StatusConflict
		}, rereplied},
		{"sum of another cost", func(b *books) { b.uses[0].Cost++ }, unsummed},
		{"no sum", func(b *books) { b.uses = nil }, unsummed},
		{"open attempt", func(b *books) { b.verified.Open = 1 }, unverified},
		{"difference", func(b *books) { b.verified.Differences = []any{"one"} }, unverified},
		{"logged", func(b *books) { b.logged = []string{"panic: "} }, complained},
	}
}
