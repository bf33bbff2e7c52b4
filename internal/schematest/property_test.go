package schematest_test

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"maps"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"weir/internal/llm"
	"weir/internal/schematest"
)

var (
	seeds = flag.Int("seeds", 200, "conversations for each client API and vendor")
	seed  = flag.Uint64("seed", 0, "the one conversation to try, or 0")
)

// TestGeneratedRequestsAreValid holds what the generator makes against the client API's own schema.
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

// outcome counts what became of requests of one client API at one target.
type outcome struct {
	valid, dropped, refused, invalid int
	words                            map[string]int    // of refusals
	kinds                            map[string]uint64 // of invalid requests, with the first seed
}

// TestRequestsKeepToVendorsRules sends any conversation that is valid at a client API to each vendor: what Weir does not
// refuse, the vendor's published schema takes, and so does the strict simulator.
func TestRequestsKeepToVendorsRules(t *testing.T) {
	t.Parallel()
	for _, c := range clients() {
		for _, to := range targets() {
			if c.own == to.vendor {
				continue // it passes as it came
			}
			t.Run(c.name+" to "+to.vendor+" "+to.model, func(t *testing.T) {
				t.Parallel()
				r := newRoute(t, c, to)
				o := r.tried(uint64(*seeds))
				o.log(t)
				for _, kind := range slices.Sorted(maps.Keys(o.kinds)) {
					r.report(t, kind, o.kinds[kind])
				}
			})
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

func (r *route) tried(n uint64) (o outcome) {
	o.words, o.kinds = map[string]int{}, map[string]uint64{}
	first, last := uint64(0), n
	if *seed > 0 {
		first, last = *seed, *seed+1
	}
	for s := first; s < last; s++ {
		body := encoded(r.client.make(newGenerator(s)))
		out, dropped, err := r.sent(body)
		if err != nil {
			e := llm.AsError(err)
			o.refused++
			o.words[place(e.Param)+": "+e.Message]++
			continue
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
				o.kinds[v.Kind()] = s
			}
		}
	}
	return o
}

// place is a field without its indices.
func place(param string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, param)
}

// report fails for a kind of invalid request, with the smallest that has it.
func (r *route) report(t *testing.T, kind string, seed uint64) {
	t.Helper()
	has := func(o object) bool {
		body := encoded(o)
		is := func(v schematest.Violation) bool { return v.Kind() == kind }
		return len(r.client.known(t, body)) == 0 && slices.ContainsFunc(r.violations(body), is)
	}
	smallest := shrunk(r.client.make(newGenerator(seed)), has)
	body := encoded(smallest)
	out, _, _ := r.sent(body)
	found := r.judged(out)
	t.Errorf("-seed %d: %s\n%s\nis sent as\n%s", seed, cmp.Or(fmt.Sprint(found), kind), body, out)
}
