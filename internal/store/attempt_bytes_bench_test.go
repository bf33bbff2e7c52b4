//go:build unix

package store_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"

	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/store"
)

// BenchmarkRowBytes applies 100,000 attempts of the given number of accounts, and reports the bytes of an attempt in
// each table and index that has rows of attempts, and the processor time of one.
func BenchmarkRowBytes(b *testing.B) {
	for name, backend := range engines() {
		for _, accounts := range []int{1, 100} {
			b.Run(fmt.Sprintf("%s/accounts=%d", name, accounts), func(b *testing.B) {
				for b.Loop() {
					benchmarkRowBytes(b, backend(b), accounts)
				}
			})
		}
	}
}

func benchmarkRowBytes(b *testing.B, o store.Options, accounts int) {
	const size, batches = 1000, 100
	ctx := context.Background()
	at := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	o.Clock = func() time.Time { return at }
	s, err := store.Open(ctx, o)
	must.Do(b, err)
	r := rand.New(rand.NewPCG(1, 2))
	batch := &ledger.Batch{Journal: uuid.New(), Settled: make([]ledger.Entry, size)}
	var spent time.Duration
	for range batches {
		batch.From, batch.To = batch.To, batch.To+1
		for i := range batch.Settled {
			at = at.Add(2 * time.Millisecond)
			batch.Settled[i] = usualEntry(r, at, accounts)
		}
		used := cpu(b)
		must.Do(b, s.Ledger.Apply(ctx, batch))
		spent += cpu(b) - used
	}
	must.Do(b, s.Close())
	b.ReportMetric(float64(spent.Microseconds())/(size*batches), "cpu-µs/attempt")
	sum := 0.0
	for name, bytes := range rowBytes(b, o) {
		one := float64(bytes) / (size * batches)
		sum += one
		b.ReportMetric(one, name+"-B/attempt")
	}
	b.ReportMetric(sum, "B/attempt")
}

// usualEntry returns a settled attempt with the ids and texts that a gateway writes for a chat.
func usualEntry(r *rand.Rand, at time.Time, accounts int) ledger.Entry {
	e := benchEntry(r, at, accounts, 4)
	a := uuid.NewSHA1(uuid.Nil, []byte(e.Account)).String()
	e.Account, e.Key = a, a[:35]+"k"
	e.ID.Request = uuidAt(at, r)
	e.Price.Version = "genai-prices@0.0.47/openai/" + e.Model + "#3f9ab21c"
	e.Usage = llm.Usage{llm.Input: 200 + r.Int64N(1500), llm.CacheRead: r.Int64N(1000), llm.Output: 50 + r.Int64N(500)}
	e.Cost = llm.Money(100_000 + r.Int64N(9_000_000))
	e.FirstToken = time.Duration(100_000+r.Int64N(900_000)) * time.Microsecond
	e.Duration = time.Duration(1_000_000+r.Int64N(20_000_000)) * time.Microsecond
	e.Opened = at.Add(time.Duration(r.Int64N(900)) * time.Microsecond)
	return e
}

// uuidAt returns a UUID of version 7 with that time.
func uuidAt(at time.Time, r *rand.Rand) (id uuid.UUID) {
	for i := range id {
		id[i] = byte(r.Uint32())
	}
	ms := at.UnixMilli()
	for i := range 6 {
		id[i] = byte(ms >> (40 - 8*i))
	}
	id[6], id[8] = 0x70|id[6]&0xf, 0x80|id[8]&0x3f
	return id
}

// rowBytes returns the bytes of each table and index with rows of attempts.
func rowBytes(tb testing.TB, o store.Options) map[string]int64 {
	tb.Helper()
	query := "SELECT name, sum(pgsize) FROM dbstat WHERE name LIKE '%attempt%' AND name NOT LIKE 'autoindex%' GROUP BY name"
	if !o.URL.IsZero() {
		query = "SELECT relname, pg_relation_size(oid) FROM pg_class WHERE relkind IN ('r', 'i') AND relname LIKE '%attempt%'" +
			" AND relnamespace = current_schema()::regnamespace"
	}
	db := behind(tb, o)
	defer db.Close()
	sizes := map[string]int64{}
	rows := must.Get(db.QueryContext(context.Background(), query))(tb)
	defer rows.Close()
	for rows.Next() {
		var name sql.NullString
		var bytes int64
		must.Do(tb, rows.Scan(&name, &bytes))
		sizes[name.String] = bytes
	}
	must.Do(tb, rows.Err())
	return sizes
}
