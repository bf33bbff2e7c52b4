package app

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/budget"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/ratelimit"
)

// lender is a database that accepts writes until it is deaf, and leases whole budgets.
type lender struct {
	deafStore
	refuses *atomic.Bool
	leases  *atomic.Int64 // requests for a lease
}

func (l lender) Apply(ctx context.Context, b *ledger.Batch) error {
	if l.refuses.Load() {
		return l.deafStore.Apply(ctx, b)
	}
	return nil
}

func (l lender) Lease(context.Context, budget.LeaseRequest) (budget.Lease, error) {
	l.leases.Add(1)
	return budget.Lease{Limit: 1 << 60, Granted: 1 << 60}, nil
}
func (lender) Reconcile(context.Context, uuid.UUID) error { return nil }
func (lender) Beat(context.Context, budget.Node) (budget.Beat, error) {
	return budget.Beat{Alive: 1}, nil
}
func (lender) Leave(context.Context, uuid.UUID) error { return nil }

// held is a gateway with limits for its client.
type held struct {
	name    string
	lender  lender
	handler http.Handler
	out     *sink
	request *http.Request
	body    *strings.Reader
	text    string
}

func newHeld(b testing.TB, name, body string, limits ratelimit.Policy, budget account.Budget) *held {
	b.Helper()
	g, _ := pipeline(b, canned{http.Header{"Content-Type": {"application/json"}}, wholeReply})
	lend := lender{deafStore{make(chan struct{})}, new(atomic.Bool), new(atomic.Int64)}
	meter, err := ledger.New(b.Context(), ledger.Options{
		Dir: filepath.Join(b.TempDir(), "journal"), Store: lend, Leases: lend, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	must.Do(b, err)
	b.Cleanup(func() {
		close(lend.closed)
		if err := meter.Close(context.Background()); err != nil {
			b.Error(err)
		}
	})
	g.meterWith(meter)
	g.limits.Use(limits)
	ctx := b.Context()
	must.Get(g.admin.Accounts.CreateAccount(ctx, audit.Gateway(), "guarded"))(b)
	must.Get(g.admin.Accounts.SetBudget(ctx, audit.Gateway(), "guarded", budget))(b)
	_, token, err := g.admin.Accounts.CreateKey(ctx, audit.Gateway(), account.KeyOptions{Account: "guarded", Label: "test", Budget: budget})
	must.Do(b, err)
	w := (&held{lender: lend, handler: g.site.handler(), request: &http.Request{
		Method: http.MethodPost, URL: &url.URL{Path: "/v1/chat/completions"}, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:     http.Header{"Authorization": {"Bearer " + token.Reveal()}, "Content-Type": {"application/json"}},
		RequestURI: "/v1/chat/completions",
	}}).with(name, body)
	w.ask()
	w.out.isWhole(b, name)
	lend.refuses.Store(true)
	return w
}

// with returns the same gateway and client, with another body.
func (w *held) with(name, body string) *held {
	next := &held{name: name, lender: w.lender, handler: w.handler, out: &sink{header: http.Header{}}, body: strings.NewReader(body), text: body}
	next.request = w.request.Clone(context.Background())
	next.request.ContentLength = int64(len(body))
	return next
}

func (w *held) ask() {
	w.out.reset()
	w.body.Reset(w.text)
	w.request.Body = io.NopCloser(w.body) // which the handler wraps
	w.handler.ServeHTTP(w.out, w.request)
}

// TestBenchmarkedBudgetsAreLeased checks that the requests of BenchmarkHolds are answered, and that those with budgets,
// and no others, reserve their cost of one.
func TestBenchmarkedBudgetsAreLeased(t *testing.T) {
	const body = `{"model":"house/m","messages":[{"role":"user","content":"Hello!"}]}`
	for _, test := range []struct {
		budget account.Budget
		want   bool
	}{{account.Budget{}, false}, {account.Budget{Limit: llm.USD, Period: budget.PeriodMonth}, true}} {
		w := newHeld(t, "held", body, ratelimit.Policy{}, test.budget)
		w.ask()
		w.out.isWhole(t, w.name)
		if got := w.lender.leases.Load() > 0; got != test.want {
			t.Errorf("budget %+v: leased %t, want %t", test.budget, got, test.want)
		}
	}
}

// BenchmarkHolds measures the CPU time that limits and budgets add to a request, from the router to the last write
// without sockets: with limits of the installation, the account and the key, with budgets of account and key, and with
// all of them. They alternate with an unlimited request, so that the difference is valid on a busy machine: it is the
// median of the rounds.
func BenchmarkHolds(b *testing.B) {
	many := ratelimit.Limits{RPM: 1 << 40, TPM: 1 << 40, Concurrency: 1 << 40}
	limits := ratelimit.Policy{Installation: many, PerKey: many, PerAccount: many}
	budget := account.Budget{Limit: 1_000_000 * llm.USD, Period: budget.PeriodMonth}
	for _, body := range []struct{ name, text string }{
		{"short", `{"model":"house/m","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hello!"}]}`},
		{"short, capped", `{"model":"house/m","max_tokens":100,"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hello!"}]}`},
		{"8 KB", `{"model":"house/m","messages":[{"role":"user","content":"` + strings.Repeat("Tell me more. ", 600) + `"}]}`},
	} {
		b.Run(body.name, func(b *testing.B) {
			all := []*held{
				newHeld(b, "nothing", body.text, ratelimit.Policy{}, account.Budget{}),
				newHeld(b, "limits", body.text, limits, account.Budget{}),
				newHeld(b, "budgets", body.text, ratelimit.Policy{}, budget),
				newHeld(b, "both", body.text, limits, budget),
			}
			inTurns(b, all)
		})
	}
}

// BenchmarkAttribution measures the same for reading and storing tags and an end user: of a header, of members of the
// body, and of both. All bodies have one length, so that the relayed bytes are equal. One gateway serves them all: two
// of the same kind differ by more than that.
func BenchmarkAttribution(b *testing.B) {
	const (
		request    = `{"model":"house/m","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hello!"}],`
		plain      = request + `"x_er":"ada","x_tadata":{"project":"alpha","team":"search"}}`
		attributed = request + `"user":"ada","metadata":{"project":"alpha","team":"search"}}`
	)
	nothing := newHeld(b, "nothing", plain, ratelimit.Policy{}, account.Budget{})
	all := []*held{nothing}
	for _, one := range []struct{ name, body, tags string }{
		{"header", plain, "project=alpha, team=search"},
		{"body", attributed, ""},
		{"both", attributed, "project=beta"},
	} {
		w := nothing.with(one.name, one.body)
		if one.tags != "" {
			w.request.Header.Set("X-Weir-Tags", one.tags)
		}
		all = append(all, w)
	}
	inTurns(b, all)
}

// inTurns reports the CPU time of a request of the first, and the median of the others' additional time in the same
// round.
func inTurns(b *testing.B, all []*held) {
	b.Helper()
	took := make([][]float64, len(all))
	for turn := 0; b.Loop(); turn++ {
		for n := range all {
			i := (turn + n) % len(all) // garbage of one is collected during the next
			took[i] = append(took[i], all[i].round(b))
		}
	}
	median := func(v []float64) float64 { return slices.Sorted(slices.Values(v))[len(v)/2] }
	base := median(took[0])
	b.ReportMetric(base/1000, "µs/request")
	for i, w := range all[1:] {
		more := make([]float64, len(took[0]))
		for r := range more {
			more[r] = took[i+1][r] - took[0][r]
		}
		b.ReportMetric(median(more)/1000, "µs-more-"+w.name)
		b.ReportMetric(100*median(more)/base, "%-"+w.name)
	}
}

// round returns the CPU time in nanoseconds of one of many requests.
func (w *held) round(b *testing.B) float64 {
	const requests = 200
	before := cpuNanos(b)
	for range requests {
		w.ask()
	}
	w.out.isWhole(b, w.name)
	return float64(cpuNanos(b)-before) / requests
}

func cpuNanos(b *testing.B) int64 {
	var u syscall.Rusage
	must.Do(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return u.Utime.Nano() + u.Stime.Nano()
}
