package refusal_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/refusal"
)

// table adds up batches like a database, and fails some of the writes.
type table struct {
	mu      sync.Mutex
	fails   func() bool
	counts  map[refusal.Bucket]int64
	latest  int
	stored  func(*refusal.Refusal) // is called with each of the latest; may be nil
	metrics int64
}

var errAway = errors.New("the database is away")

// write adds a batch.
func (d *table) write(_ context.Context, b refusal.Batch) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fails != nil && d.fails() {
		return errAway
	}
	for _, c := range b.Counts {
		d.counts[c.Bucket] += c.N
	}
	d.latest += len(b.Latest)
	for i := range b.Latest {
		if d.stored != nil {
			d.stored(&b.Latest[i])
		}
	}
	return nil
}

func (d *table) counted(refusal.Refusal) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.metrics++
}

func (d *table) total() (n int64) {
	for _, count := range d.counts {
		n += count
	}
	return n
}

func (d *table) recorder(log *slog.Logger) *refusal.Recorder {
	d.counts = map[refusal.Bucket]int64{}
	return refusal.NewRecorder(refusal.Options{Write: d.write, Counted: d.counted, Now: time.Now, Log: log})
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// of returns a refusal of a key.
func of(account, key, model string, reason llm.Code) refusal.Refusal {
	return refusal.Refusal{
		Request: uuid.Must(uuid.NewV7()), At: time.Now().UTC(), Account: account, Key: key, Reason: reason, Model: model,
		Status: 429, Message: "This API key is limited to 1 request a minute.",
	}
}

// TestCountsAddUp counts refusals from many goroutines, while batches are written and every other write fails.
func TestCountsAddUp(t *testing.T) {
	t.Parallel()
	const writers, each = 8, 2000
	d := &table{}
	fail := 0
	d.fails = func() bool { fail++; return fail%2 == 1 }
	r := d.recorder(quiet())
	var adding, flushing sync.WaitGroup
	for w := range writers {
		adding.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(w)))
			for range each {
				account := fmt.Sprintf("acc%d", random.IntN(3))
				r.Add(of(account, account+"-key", fmt.Sprintf("house/m%d", random.IntN(50)), llm.CodeRateLimited))
			}
		})
	}
	stop := make(chan struct{})
	flushing.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				_ = r.Flush(t.Context()) // every other one fails
			}
		}
	})
	adding.Wait()
	close(stop)
	flushing.Wait()
	for r.Flush(t.Context()) != nil {
		continue
	}
	must.Equal(t, d.total(), int64(writers*each), "counts of all buckets")
	must.Equal(t, d.metrics, int64(writers*each), "counts of the metric")
}

// TestFloodOfModelsAddsFewRows sends unknown models without end.
func TestFloodOfModelsAddsFewRows(t *testing.T) {
	t.Parallel()
	d := &table{}
	r := d.recorder(quiet())
	at := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	for i := range 50_000 {
		x := of("acc", "key", fmt.Sprintf("no/model-%d", i), llm.CodeModelNotFound)
		x.At = at
		r.Add(x)
		if i%1000 == 0 {
			must.Do(t, r.Flush(t.Context()))
		}
	}
	must.Do(t, r.Flush(t.Context()))
	must.Equal(t, len(d.counts), refusal.MostModels+1, "rows of the minute")
	must.Equal(t, d.total(), int64(50_000), "refusals")
	must.Equal(t, d.latest, 51*refusal.MostLatest-99, "refusals that were stored")
}

// TestFloodOfKeyLeavesRefusalsOfOthers refuses thousands of requests of a key, and then few of two others.
func TestFloodOfKeyLeavesRefusalsOfOthers(t *testing.T) {
	t.Parallel()
	d := &table{}
	r := d.recorder(quiet())
	stored := map[string]int{}
	d.stored = func(x *refusal.Refusal) { stored[x.Key]++ }
	for _, few := range []string{"before", "after"} {
		if few == "after" {
			for range 5000 {
				r.Add(of("acc", "flood", "", llm.CodeAuthentication))
			}
		}
		for range 20 {
			r.Add(of("acc", few, "", llm.CodeRateLimited))
		}
	}
	must.Do(t, r.Flush(t.Context()))
	must.Equal(t, stored["before"], 20, "refusals before the flood")
	must.Equal(t, stored["after"], 20, "refusals after the flood")
	if n := stored["flood"]; n < 10 || n > refusal.MostLatest {
		t.Errorf("got %d refusals of the flood, want some, at most %d", n, refusal.MostLatest)
	}
}

// TestFloodOfKeysAddsFewRows counts refusals of very many keys of an account, some of them of slow requests that arrived
// an hour ago.
func TestFloodOfKeysAddsFewRows(t *testing.T) {
	t.Parallel()
	d := &table{}
	r := d.recorder(quiet())
	at := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	for i := range 50_000 {
		x := of("acc", fmt.Sprintf("key-%d", i), fmt.Sprintf("no/model-%d", i), llm.CodeModelNotFound)
		if x.At = at; i%20 == 19 {
			x.At = at.Add(-time.Hour)
		}
		r.Add(x)
	}
	must.Do(t, r.Flush(t.Context()))
	must.Equal(t, d.total(), int64(50_000), "refusals")
	if rows := len(d.counts); rows > refusal.MostCounts+2 {
		t.Errorf("got %d rows, want at most %d and one for the others of each minute", rows, refusal.MostCounts)
	}
}

// TestReadersDoNotWaitForDatabase awaits the refusals while they cannot be written, and while nobody writes them.
func TestReadersDoNotWaitForDatabase(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &table{fails: func() bool { return true }}
		r := d.recorder(quiet())
		r.Add(of("acc", "key", "", llm.CodeRateLimited))
		start := time.Now()
		r.Await(t.Context()) // nobody writes
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { r.Run(ctx) })
		r.Await(t.Context()) // the write fails
		if took := time.Since(start); took > 1100*time.Millisecond {
			t.Errorf("waited %s, want a second and an attempt", took)
		}
		d.fails = nil
		r.Add(of("acc", "key", "", llm.CodeRateLimited))
		r.Await(t.Context())
		must.Equal(t, d.total(), int64(2), "refusals that a reader finds")
		stop()
		running.Wait()
	})
}

// TestFloodWithoutDatabaseIsBounded counts refusals of very many keys while nothing can be written.
func TestFloodWithoutDatabaseIsBounded(t *testing.T) {
	t.Parallel()
	d := &table{fails: func() bool { return true }}
	r := d.recorder(quiet())
	for i := range 100_000 {
		r.Add(of(fmt.Sprintf("acc%d", i), "key", "", llm.CodeRateLimited))
		if i%9000 == 0 {
			if err := r.Flush(t.Context()); !errors.Is(err, errAway) {
				t.Fatalf("got %v, want %v", err, errAway)
			}
		}
	}
	d.fails = nil
	must.Do(t, r.Flush(t.Context()))
	must.Equal(t, d.total(), int64(100_000), "refusals")
	if rows := len(d.counts); rows > 50_000 {
		t.Errorf("got %d rows, want at most 50,000", rows)
	}
	if d.latest > 10_000 {
		t.Errorf("got %d stored refusals, want at most 10,000", d.latest)
	}
}

// TestRunWritesAtItsEnd checks that the refusals of the last second are written when the gateway stops.
func TestRunWritesAtItsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &table{}
		r := d.recorder(quiet())
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { r.Run(ctx) })
		r.Add(of("acc", "key", "", llm.CodeForbidden))
		time.Sleep(1100 * time.Millisecond)
		d.mu.Lock()
		must.Equal(t, d.total(), int64(1), "refusals after a second")
		d.mu.Unlock()
		r.Add(of("acc", "key", "", llm.CodeForbidden))
		stop()
		running.Wait()
		must.Equal(t, d.total(), int64(2), "refusals after the stop")
	})
}

// TestLogHasOneLineAMinute checks that a flood leaves one line for a key and a reason a minute, with the numbers.
func TestLogHasOneLineAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		d := &table{}
		r := d.recorder(slog.New(slog.NewTextHandler(&out, nil)))
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { r.Run(ctx) })
		time.Sleep(500 * time.Millisecond) // between two writes
		for range 150 {                    // seconds
			for range 10 {
				r.Add(of("acc", "key", "house/m", llm.CodeRateLimited))
			}
			r.Add(of("acc", "key", "house/m", llm.CodeBudgetExceeded))
			time.Sleep(time.Second)
		}
		stop()
		running.Wait()
		for reason, want := range map[string][]string{
			"RATE_LIMITED": {"count=10", "count=600", "count=600", "count=290"}, "BUDGET_EXCEEDED": {"count=1", "count=60", "count=60", "count=29"},
		} {
			var got []string
			for line := range strings.SplitSeq(out.String(), "\n") {
				if strings.Contains(line, "reason="+reason+" ") {
					got = append(got, strings.Fields(line[strings.Index(line, "count="):])[0])
				}
			}
			must.Equal(t, got, want, "%s", reason)
		}
		if line, _, _ := strings.Cut(out.String(), "\n"); !strings.Contains(line, "account=acc key=key request=") {
			t.Errorf("got the line %q, want the account, the key and a request", line)
		}
	})
}

func TestTextLeavesOutValues(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100)
	for _, test := range []struct {
		reason               llm.Code
		message, param, want string
	}{
		{llm.CodeInvalidRequest, `The field "top_k" is unknown.`, "top_k", `The field "top_k" is unknown.`},
		{llm.CodeInvalidRequest, `The role "tell me a secret" is unknown.`, "messages[0].role", `messages[0].role: The role "…" is unknown.`},
		{llm.CodeInvalidRequest, `The role "` + long + `" is unknown.`, "", `The role "…" is unknown.`},
		{llm.CodeInvalidRequest, "The field does not exist.", "my secret", "The field does not exist."},
		{llm.CodeNotFound, "The model's response with id 'my secret' is not the client's.", "", "The model's response with id '…'s."},
		{llm.CodeInvalidRequest, `The role "has no end`, "", `The role "…`},
		{llm.CodeInvalidRequest, `The role "\"the secret\" diary" is unknown.`, "", `The role "…" is unknown.`},
		{llm.CodeInvalidRequest, `The role "sk-my-secret" is unknown.`, "", `The role "…" is unknown.`},
		{llm.CodeNotFound, "Previous response with id 'x' my secret sings' not found.", "", "Previous response with id '…' not found."},
		{llm.CodeModelNotFound, `The model "house/m" is not served here.`, "", `The model "house/m" is not served here.`},
		{llm.CodeRateLimited, "Wait for\x1b\n a\x00 minute.", "", "Wait for a minute."},
		{llm.CodeForbidden, strings.Repeat("é", 400), "", strings.Repeat("é", 250) + "…"},
	} {
		x := refusal.Refusal{Reason: test.reason, Model: "house/m", Message: test.message, Param: test.param}
		must.Equal(t, x.Text(), test.want, "%s", test.message)
	}
}

// BenchmarkAdd measures the count of a refusal of one key.
func BenchmarkAdd(b *testing.B) {
	d := &table{}
	r := d.recorder(quiet())
	x := of("0192f0c1-aaaa-7bbb-8ccc-000000000001", "0192f0c1-aaaa-7bbb-8ccc-000000000002", "house/m", llm.CodeRateLimited)
	b.ReportAllocs()
	for b.Loop() {
		r.Add(x)
	}
}

// TestAddAllocatesNothing is not parallel, because it counts for the whole process.
func TestAddAllocatesNothing(t *testing.T) {
	d := &table{}
	r := d.recorder(quiet())
	x := of("acc", "key", "house/m", llm.CodeRateLimited)
	for range 2 * refusal.MostLatest {
		r.Add(x)
	}
	if n := testing.AllocsPerRun(1000, func() { r.Add(x) }); n != 0 {
		t.Errorf("got %v allocations, want none", n)
	}
}
