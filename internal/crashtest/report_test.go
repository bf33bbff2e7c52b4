//go:build unix

package crashtest_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"weir/internal/ledger"
)

// mostShown bounds the number of shown findings of a kind.
const mostShown = 8

// findings lists the faults, with the evidence.
func (v *verdict) findings() (all []string) {
	for _, f := range faults() {
		list := v.found[f]
		if len(list) == 0 {
			continue
		}
		shown := list[:min(len(list), mostShown)]
		all = append(all, fmt.Sprintf("%d x %s\n  %s", len(list), f, strings.Join(shown, "\n  ")))
	}
	return all
}

// report formats the figures as a table.
func report(b *books, v *verdict) string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	line := func(name string, format string, args ...any) {
		fmt.Fprintf(w, "%s\t%s\n", name, fmt.Sprintf(format, args...))
	}
	for _, c := range tally(b.lives, func(l *life) string { return endingOf(l) }) {
		line(c.name, "%d", c.n)
	}
	median, longest := recovery(b.lives)
	line("recovery, process started to first answer", "median %s, max %s", median, longest)
	line("requests made", "%d", len(b.receipts))
	for _, c := range tally(b.receipts, endOf) {
		line("  "+c.name, "%d", c.n)
	}
	line("attempts that the provider saw", "%d", len(b.served))
	line("rows in the ledger", "%d", len(b.rows))
	for _, c := range tally(b.rows, func(r *row) string { return string(r.outcome) + ", " + string(r.provenance) }) {
		line("  "+c.name, "%d", c.n)
	}
	line("unknown, explained by a kill", "%d", v.unknowns()-v.count(unexplained))
	line("requests in /v1/uses", "%d, of which the provider saw %d", v.reached+v.unseen, v.reached)
	line("estimates: output less the truth, tokens, streams", "%s", spread(v.streams))
	line("estimates: output less the truth, tokens, others", "%s", spread(v.wholes))
	line("estimates: input less the truth, percent", "%s", spread(v.inputs))
	line("weir ledger verify", "%d rows, %d open, %d differences", b.verified.Rows, b.verified.Open, len(b.verified.Differences))
	for _, f := range faults() {
		line(string(f), "%d", v.count(f))
	}
	_ = w.Flush() // a strings.Builder returns no error
	return text.String()
}

func (v *verdict) unknowns() (n int) {
	for i := range v.books.rows {
		if v.books.rows[i].outcome == ledger.OutcomeUnknown {
			n++
		}
	}
	return n
}

type counted struct {
	name string
	n    int
}

// tally counts by name, in the order of the names.
func tally[T any](list []T, name func(*T) string) (all []counted) {
	counts := map[string]int{}
	for i := range list {
		counts[name(&list[i])]++
	}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		all = append(all, counted{name, counts[name]})
	}
	return all
}

func endingOf(l *life) string {
	name := string(l.plan.kind)
	if l.plan.point != "" {
		name += ", " + l.plan.point
	}
	if l.killed && l.ready.IsZero() {
		name += ", before it answered"
	}
	if !l.killed && l.plan.kind != gracious {
		name += ", which came too late"
	}
	return name
}

func endOf(c *receipt) string {
	switch {
	case c.replayed:
		return "replayed"
	case c.whole && c.status == http.StatusOK:
		return "answered"
	case c.whole:
		return fmt.Sprintf("answered with %d", c.status)
	case c.failed:
		return "error event in a stream"
	case c.left && c.pieces > 0:
		return "hung up in the middle"
	case c.left:
		return "hung up before the first piece"
	case c.status != 0:
		return "broken off"
	}
	return "no answer"
}

// recovery returns the durations of the successful starts.
func recovery(lives []life) (median, longest time.Duration) {
	var all []time.Duration
	for i := range lives {
		if !lives[i].ready.IsZero() {
			all = append(all, lives[i].ready.Sub(lives[i].began).Round(time.Millisecond))
		}
	}
	if len(all) == 0 {
		return 0, 0
	}
	slices.Sort(all)
	return all[len(all)/2], all[len(all)-1]
}

// spread formats the distribution of errors.
func spread(all []int64) string {
	if len(all) == 0 {
		return "none"
	}
	slices.Sort(all)
	at := func(percent int) int64 { return all[(len(all)-1)*percent/100] }
	return fmt.Sprintf("min %d, p5 %d, p50 %d, p95 %d, max %d (of %d)", all[0], at(5), at(50), at(95), all[len(all)-1], len(all))
}

// unprovoked lists the effects that n kills under this load must have had and did not have: without them the figures
// would prove nothing.
func unprovoked(b *books, v *verdict, n int) (all []string) {
	for _, want := range []ledger.Outcome{
		ledger.OutcomeOK, ledger.OutcomeRefused, ledger.OutcomeRejected, ledger.OutcomeFailed, ledger.OutcomeCut,
		ledger.OutcomeClientGone, ledger.OutcomeUnknown,
	} {
		if !slices.ContainsFunc(b.rows, func(r row) bool { return r.outcome == want }) {
			all = append(all, "a row with the outcome "+string(want))
		}
	}
	killed := 0
	for i := range b.lives {
		if b.lives[i].killed && b.lives[i].plan.kind != inStop {
			killed++
		}
	}
	if killed < n {
		all = append(all, fmt.Sprintf("%d kills (there were %d)", n, killed))
	}
	if !slices.ContainsFunc(b.receipts, func(c receipt) bool { return c.replayed }) {
		all = append(all, "a replay")
	}
	if !slices.ContainsFunc(b.rows, func(r row) bool { return r.id.N > 1 && r.outcome == ledger.OutcomeOK }) {
		all = append(all, "an answer by a second target")
	}
	if !slices.ContainsFunc(b.receipts, func(c receipt) bool { return c.model == "mended" && c.whole && c.stream && c.attempts > 1 }) {
		all = append(all, "an answer that was continued elsewhere")
	}
	if !slices.ContainsFunc(b.receipts, func(c receipt) bool { return c.socket && c.whole && c.request != "" }) {
		all = append(all, "an answer over a WebSocket")
	}
	if n < 2*len(points) {
		return all
	}
	for _, p := range points {
		if !slices.ContainsFunc(b.lives, func(l life) bool { return l.killed && l.plan.kind == atPoint && l.plan.point == p.name }) {
			all = append(all, "a kill at "+p.name)
		}
	}
	return all
}
