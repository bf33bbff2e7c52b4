//go:build linux

package hostiletest_test

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	// slowestGood is how late answers may be at p99, and noise how many times later than before the
	// attack they may be on a machine that has more to do than the test.
	slowestGood = 250 * time.Millisecond
	noise       = 3
	mostMemory  = 512 << 20 // resident, in an attack
	// The resources that a gateway may hold after an attack, beyond a tenth more than before. Descriptors: connections
	// to providers that wait for the next request. Memory: the heap may grow to five times the live objects, and its
	// free part returns to the system slowly, on an idle machine.
	moreDescriptors = 32
	moreGoroutines  = 16
	moreHeap        = 64 << 20
	usualHeap       = 80 << 20 // after litter
	moreResident    = 96 << 20
	// recovery is the longest time until the resources are released, on a busy machine where no time is judged.
	recovery, slowRecovery = 20 * time.Second, 2 * time.Minute
	// tries is the number of times that an attack is made if its good clients were late: the machine may have been busy.
	tries = 3
	// longest bounds the length of an attack that is made again, each time for twice as long, because its hostile clients
	// did not meet what they have to, if no time is judged.
	longest = time.Minute
)

// attack describes an attack by four concurrent clients.
type attack struct {
	name    string
	held    string                          // the gateway's defence
	model   string                          // the model of the good clients; empty for goodModel
	secure  bool                            // use TLS
	files   int                             // files that the gateway may open; 0 for the test's own limit
	kept    int                             // connections to providers that stay idle for a while afterwards, beyond moreDescriptors
	lasts   time.Duration                   // with -hostile.long; 0 for attackTime
	alone   func(t *testing.T, a *attacker) // run by one client before all others; nil for none
	hostile func(a *attacker)
	meets   string                        // outcome that hostile clients have to meet with -hostile.long; empty for anything, if there is a check
	check   func(t *testing.T, r *result) // checks more than those of all attacks; nil for none
}

// attacker is one hostile client. Its work ends when ctx does.
type attacker struct {
	*testGateway
	ctx    context.Context
	number int // from 0
	key    string
	result *result

	transport *http.Transport
}

// result holds the result of an attack.
type result struct {
	testGateway   *testGateway
	kept          int // as in attack
	good          answers
	quiet         time.Duration // p99 of good clients before the attack
	before, after reading       // after the recovery
	peak          int64         // bytes resident

	mu       sync.Mutex
	counted  map[string]int    // the outcomes of hostile clients
	wrong    []string          // the outcomes that they should not have met
	sessions map[string]string // by invitation
}

// count counts something that a hostile client met, such as a status.
func (a *attacker) count(what any) {
	a.result.mu.Lock()
	defer a.result.mu.Unlock()
	a.result.counted[fmt.Sprint(what)]++
}

// wrong records an outcome that no hostile client should meet.
func (a *attacker) wrong(format string, args ...any) {
	a.result.mu.Lock()
	defer a.result.mu.Unlock()
	if len(a.result.wrong) < 10 {
		a.result.wrong = append(a.result.wrong, fmt.Sprintf(format, args...))
	}
}

// pause waits, and reports whether the attack continues.
func (a *attacker) pause(d time.Duration) bool {
	select {
	case <-a.ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// many does the same in n goroutines at a time until the attack is over.
func (a *attacker) many(n int, pause time.Duration, do func(i int)) {
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			for i := 0; ; i++ {
				do(i)
				if !a.pause(pause) {
					return
				}
			}
		})
	}
	all.Wait()
}

// only returns a check that hostile clients met all these outcomes, and no others.
func only(want ...string) func(*testing.T, *result) {
	return func(t *testing.T, r *result) {
		for what, n := range r.counted {
			if !slices.Contains(want, what) {
				t.Errorf("hostile clients met %s %d times, want %q", what, n, want)
			}
		}
	}
}

func attacks() []attack {
	return slices.Concat(clientAttacks(), fairnessAttacks(), smugglingAttacks(), filesAttacks(), http2Attacks(), providerAttacks(),
		contentAttacks(), peopleAttacks(), moneyAttacks(), socketAttacks())
}

// atOnce is the number of concurrent attacks if no time is judged: each of them mostly waits.
const atOnce = 3

// TestHostile makes all attacks, each on a gateway of its own.
func TestHostile(t *testing.T) {
	g := newGround(t)
	places := make(chan struct{}, strict(1, atOnce))
	all := attacks()
	rows := make([]string, len(all))
	t.Run("attacks", func(t *testing.T) {
		for i := range all {
			t.Run(all[i].name, func(t *testing.T) {
				t.Parallel()
				places <- struct{}{}
				defer func() { <-places }()
				rows[i] = all[i].repeat(t, g)
			})
		}
	})
	t.Logf("\n| attack | what is held | good clients answered | p99 | peak memory |\n|---|---|---|---|---|\n%s",
		strings.Join(rows, "\n"))
}

// repeat makes the attack, again if good clients were late, and returns its row of the table.
func (a *attack) repeat(t *testing.T, g *testbed) string {
	t.Helper()
	for try := 1; ; try++ {
		r := a.run(t, g)
		row := r.row(a)
		t.Logf("%s hostile clients met %v, the gateway used %s of a core", row, r.counted,
			(r.after.processor - r.before.processor).Round(time.Millisecond))
		most := max(slowestGood, noise*r.quiet)
		late := *strictFlag && r.good.p99() > most
		if late && !t.Failed() && try < tries {
			continue
		}
		if late {
			t.Errorf("good clients: p99 %s the %dth time, want at most %s", r.good.p99(), try, most)
		}
		return row
	}
}

// run makes the attack and judges everything that does not depend on the clock.
func (a *attack) run(t *testing.T, g *testbed) *result {
	t.Helper()
	h := g.open(t, a)
	r := &result{testGateway: h, kept: a.kept, counted: map[string]int{}, sessions: map[string]string{}}
	warm := &result{testGateway: h}
	a.side(t, warm, strict(500*time.Millisecond, 100*time.Millisecond), false)
	if len(warm.good.failed) > 0 {
		t.Fatalf("before the attack: %s", warm.good.failed[0])
	}
	r.quiet = warm.good.p99()
	h.litter(t)
	r.before = h.read(t)
	r.before.heap = strict(r.before.heap, max(r.before.heap, usualHeap))
	if a.alone != nil {
		one := &attacker{testGateway: h, ctx: t.Context(), key: h.bad[0], result: r, transport: h.transport(true)}
		a.alone(t, one)
		one.transport.CloseIdleConnections()
	}
	h.resetPeak(t)
	lasts := attackTime()
	if *longFlag && a.lasts > 0 {
		lasts = a.lasts
	}
	a.side(t, r, lasts, true)
	for lasts *= 2; lasts < longest && !*strictFlag && !a.met(r); lasts *= 2 { // the machine had other work
		a.side(t, r, lasts, true)
	}
	if *longFlag && !a.met(r) {
		t.Errorf("hostile clients met %v, want %s among it", r.counted, cmp.Or(a.meets, "anything"))
	}
	_, r.peak = h.memory(t)
	r.recover(t)
	r.judge(t)
	if a.check != nil {
		a.check(t, r)
	}
	if err := h.process.Stop(); err != nil {
		t.Errorf("the gateway: %v: %.2000s", err, h.process.Said())
	}
	return r
}

// met reports whether hostile clients met the outcome that they have to.
func (a *attack) met(r *result) bool {
	switch {
	case *longFlag && a.meets != "":
		return r.counted[a.meets] > 0
	case a.check != nil:
		return len(r.counted) > 0
	default:
		return true
	}
}

// side runs good clients and, if hostile is set, hostile ones at the same time.
func (a *attack) side(t *testing.T, r *result, lasts time.Duration, hostile bool) {
	ctx, cancel := context.WithTimeout(t.Context(), lasts)
	defer cancel()
	var all sync.WaitGroup
	for i := range sides {
		model := a.model
		if model == "" {
			model = goodModel
		}
		all.Go(func() { r.testGateway.converse(ctx, r.testGateway.good[i], model, &r.good) })
		if hostile {
			all.Go(func() {
				x := &attacker{testGateway: r.testGateway, ctx: ctx, number: i, key: r.testGateway.bad[i], result: r, transport: r.testGateway.transport(true)}
				defer x.transport.CloseIdleConnections()
				a.hostile(x)
			})
		}
	}
	all.Wait()
}

// recover waits until the gateway holds no more than before, or for the longest recovery. It polls rarely: an idle
// gateway returns memory by itself. If no time is judged, it has the gateway collect garbage, which is faster.
func (r *result) recover(t *testing.T) {
	t.Helper()
	began, most := time.Now(), strict(recovery, slowRecovery)
	for {
		r.after = r.testGateway.read(t)
		if len(r.leftovers()) == 0 || time.Since(began) > most {
			return
		}
		time.Sleep(long(500*time.Millisecond, 50*time.Millisecond))
	}
}

// litter has the gateway collect garbage: twice that of bodies which it reads and refuses, and then, so that none of
// these is live, once its own. That takes seconds: without -hostile.strict it does nothing, and the heap counts as
// usualHeap before the attack.
func (h *testGateway) litter(t *testing.T) {
	t.Helper()
	if !*strictFlag {
		return
	}
	body := `{"model":"none/of-this-name","messages":[{"role":"user","content":"` + strings.Repeat("x", 1<<20) + `"}]}`
	a := &attacker{testGateway: h, ctx: t.Context(), key: h.good[0], result: &result{counted: map[string]int{}}, transport: h.transport(true)}
	defer a.transport.CloseIdleConnections()
	collected := func() float64 { return h.metrics(t)["go_gc_duration_seconds_count"] }
	first, end := collected(), time.Now().Add(recovery/4)
	for collected() < first+2 && time.Now().Before(end) {
		for range 20 {
			a.post(chatPath, strings.NewReader(body))
		}
	}
	for second := collected(); collected() == second && time.Now().Before(end); {
	}
}

// leftovers lists the resources that the gateway still holds. The heap is judged only with -hostile.long, because it
// needs collections of garbage, which need time; resident memory only with -hostile.strict, because its return to the
// system depends on the machine.
func (r *result) leftovers() (all []string) {
	b, n := &r.before, &r.after
	more := func(what string, before, now, above int64) {
		if now > before+before/10+above {
			all = append(all, fmt.Sprintf("%d %s, %d before", now, what, before))
		}
	}
	more("descriptors", int64(b.descriptors), int64(n.descriptors), moreDescriptors+int64(r.kept))
	more("goroutines", int64(b.goroutines), int64(n.goroutines), moreGoroutines)
	more("requests and attempts open", 0, int64(n.open), 0)
	if *longFlag {
		more("bytes of heap", b.heap, n.heap, moreHeap)
	}
	if *strictFlag {
		more("bytes resident", b.resident, n.resident, moreResident)
	}
	return all
}

func (r *result) judge(t *testing.T) {
	t.Helper()
	for _, wrong := range r.wrong {
		t.Error(wrong)
	}
	if n := len(r.good.failed); n > 0 {
		t.Errorf("%d of %d good requests had no answer, such as: %s", n, len(r.good.took), r.good.failed[0])
	}
	if r.peak > mostMemory {
		t.Errorf("%d MB resident in the attack, want at most %d", r.peak>>20, int64(mostMemory)>>20)
	}
	for _, left := range r.leftovers() {
		t.Errorf("still, long after the attack: %s", left)
	}
}

// row returns the attack's line of the table in docs/security-evidence.md.
func (r *result) row(a *attack) string {
	n := len(r.good.took)
	return fmt.Sprintf("| %s | %s | %d of %d | %d ms | %d MB |", a.name, a.held, n-len(r.good.failed), n, r.good.p99().Milliseconds(), r.peak>>20)
}
