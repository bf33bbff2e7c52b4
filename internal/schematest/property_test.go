package schematest_test

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"iter"
	"maps"
	"net/http/httptest"
	"os"
	"regexp"
	"runtime/debug"
	"slices"
	"sync"
	"testing"

	"weir/internal/schematest"
)

const (
	usualPairs = 2000
	usualSeeds = 200
)

var (
	pairs = flag.Int("pairs", usualPairs, "conversations for each client API and vendor")
	seeds = flag.Int("seeds", usualSeeds, "conversations for each client API in the other tests")
	seed  = flag.Uint64("seed", 0, "the one conversation to try, or 0")
)

// TestMain has the collector run less often: the tests allocate much and retain little.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}

// TestGeneratedRequestsAreValid checks the generated requests against the client API's own schema.
func TestGeneratedRequestsAreValid(t *testing.T) {
	t.Parallel()
	for _, c := range clients() {
		in := dialects().Named(c.name)
		for n := range uint64(*seeds) {
			body := encoded(c.make(newGenerator(n)))
			if found := c.known(t, body); len(found) > 0 {
				t.Errorf("%s, seed %d: %v\n%s", c.name, n, found, body)
			}
			if _, err := in.Scan(body, httptest.NewRequest("POST", c.path, bytes.NewReader(body))); err != nil {
				t.Errorf("%s, seed %d: %v\n%s", c.name, n, err, body)
			}
		}
	}
}

// outcome counts the outcomes of requests of one client API at one target.
type outcome struct {
	valid, dropped, refused, invalid int
	words                            map[string]int    // of refusals
	entries                          map[entry]uint64  // of the page, with the first seed
	order                            []entry           // the same, in the order of their first seeds
	kinds                            map[string]uint64 // of invalid requests, with the first seed
}

// TestRequestsKeepToVendorsRules sends any conversation that is valid at a client API to each vendor: the vendor's
// published schema, and the strict simulator, accept every request that Weir does not refuse.
func TestRequestsKeepToVendorsRules(t *testing.T) {
	t.Parallel()
	var lock sync.Mutex
	rows := map[string][]row{}
	t.Run("from", func(t *testing.T) {
		for _, c := range clients() {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				routes := routesOf(t, c)
				outcomes := tryAll(t, c, routes)
				if *seed > 0 || *pairs != usualPairs && !*update {
					return
				}
				e := examplesOf(t, c, routes)
				e.complete(t, outcomes)
				lock.Lock()
				defer lock.Unlock()
				rows[c.name] = e.rows()
			})
		}
	})
	if len(rows) == len(clients()) {
		checkPage(t, rows)
	}
}

// tryAll sends conversations of a client to all vendors, whose models take turns, and fails if a vendor refuses one.
func tryAll(t *testing.T, c client, routes []*route) []outcome {
	t.Helper()
	outcomes := make([]outcome, len(routes))
	for s := range tried(*pairs) {
		a := c.asked(encoded(c.make(newGenerator(s))))
		for i, r := range routes {
			if r.isTried(s) {
				outcomes[i].add(r, a, s)
			}
		}
	}
	for i, r := range routes {
		t.Run("to "+r.target.vendor()+" "+r.target.model, func(t *testing.T) {
			outcomes[i].log(t)
			for _, kind := range slices.Sorted(maps.Keys(outcomes[i].kinds)) {
				r.report(t, kind, outcomes[i].kinds[kind])
			}
		})
	}
	return outcomes
}

// routesOf returns those of a client to all vendors except its own, to which its requests pass unchanged.
func routesOf(t *testing.T, c client) (routes []*route) {
	t.Helper()
	for _, to := range targets() {
		if c.own != to.schema || c.own == "" {
			routes = append(routes, newRoute(t, c, to))
		}
	}
	for _, r := range routes {
		for _, other := range routes {
			if other.target.vendor() == r.target.vendor() {
				other.turns = append(other.turns, r.target.model)
			}
		}
	}
	return routes
}

// isTried reports whether the seed is for the route's model, among the models of its vendor.
func (r *route) isTried(s uint64) bool {
	return *seed > 0 || r.turns[s%uint64(len(r.turns))] == r.target.model
}

// tried returns n seeds, or the one of the flag.
func tried(n int) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		first, last := uint64(0), uint64(n)
		if *seed > 0 {
			first, last = *seed, *seed+1
		}
		for s := first; s < last && yield(s); s++ {
		}
	}
}

func (o *outcome) log(t *testing.T) {
	t.Helper()
	t.Logf("valid %d (%d without something named), refused %d, invalid %d", o.valid, o.dropped, o.refused, o.invalid)
	for _, words := range slices.Sorted(maps.Keys(o.words)) {
		t.Logf("refused %d: %s", o.words[words], words)
	}
	for _, kind := range slices.Sorted(maps.Keys(o.kinds)) {
		t.Logf("invalid: %s (seed %d)", kind, o.kinds[kind])
	}
}

// add sends a conversation, and counts its outcome.
func (o *outcome) add(r *route, a *asked, seed uint64) {
	if o.words == nil {
		o.words, o.entries, o.kinds = map[string]int{}, map[entry]uint64{}, map[string]uint64{}
	}
	out, dropped, err := r.sent(a)
	for _, one := range r.entriesOf(dropped, err) {
		if _, ok := o.entries[one]; !ok {
			o.entries[one], o.order = seed, append(o.order, one)
		}
	}
	if err != nil {
		o.refused++
		o.words[kindOf(err)]++
		return
	}
	found := r.judged(out)
	switch {
	case len(found) > 0:
		o.invalid++
	case len(dropped) > 0:
		o.dropped++
		fallthrough
	default:
		o.valid++
	}
	for _, v := range found {
		if _, ok := o.kinds[v.Kind()]; !ok {
			o.kinds[v.Kind()] = seed
		}
	}
}

var placed = regexp.MustCompile(`\[\d+\]`)

// place returns a field without its indices.
func place(param string) string { return placed.ReplaceAllString(param, "[]") }

// report fails for a kind of invalid request, with the smallest that has it.
func (r *route) report(t *testing.T, kind string, seed uint64) {
	t.Helper()
	has := func(o object) bool {
		body := encoded(o)
		is := func(v schematest.Violation) bool { return v.Kind() == kind }
		return slices.ContainsFunc(r.violations(body), is) && len(r.client.known(t, body)) == 0
	}
	smallest := shrunk(r.client.make(newGenerator(seed)), has)
	body := encoded(smallest)
	out, _, _ := r.sent(r.client.asked(body))
	found := r.judged(out)
	t.Errorf("-seed %d: %s\n%s\nis sent as\n%s", seed, cmp.Or(fmt.Sprint(found), kind), body, out)
}
