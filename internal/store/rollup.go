package store

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"

	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/promptcache"
	"weir/internal/report"
)

// Measures of a rollup. The usage classes follow the other measures.
const (
	measureRequests = iota
	measureCost     // nano-USD
	measureTokens   // of all classes: adding them up in a report takes twice as long
	measureAttempts
	measureErrors
	measureUnpriced
	measureEstimated
	measureUnknown
	measureUncertain       // nano-USD that may have been spent beyond measureCost
	measureMargin          // nano-USD that are charged beyond measureCost
	measureMarginUncertain // nano-USD that may be charged beyond measureMargin and measureUncertain
	measureMarginUnpriced  // attempts with an unpriced charge, minus those with an unpriced cost, in measureUnpriced
	measureCached          // requests answered from the answer cache
	measureSaved           // nano-USD that their answers were charged the first time
	measureMissed          // input tokens that could have been read from prompt caches
	measureMissCost        // nano-USD that reading them would have saved, by cause
	measureUsage           = measureMissCost + promptcache.NumCauses
	numMeasures            = measureUsage + llm.NumClasses
)

// measureColumns returns the columns of the measures in a rollup's table.
func measureColumns() []string {
	columns := []string{
		"requests", "cost", "tokens", "attempts", "errors", "unpriced", "estimated", "unknown", "uncertain",
		"margin", "margin_uncertain", "margin_unpriced", "cached", "saved", "missed",
	}
	for _, cause := range promptcache.Causes() {
		columns = append(columns, "missed_"+string(cause))
	}
	for c := range llm.NumClasses {
		columns = append(columns, "use_"+llm.Class(c).String())
	}
	return columns
}

// sums holds the values of the measures.
type sums [numMeasures]int64

func (s *sums) add(o *sums) {
	for i, v := range o {
		s[i] += v
	}
}

// charged returns the amount that counts against budgets.
func (s *sums) charged() llm.Money { return s.charge() + s.uncertain() }

// charge returns the account's charge, as far as costs are known; uncertain returns how much more may be charged.
func (s *sums) charge() llm.Money { return llm.Money(s[measureCost] + s[measureMargin]) }

func (s *sums) uncertain() llm.Money {
	return llm.Money(s[measureUncertain] + s[measureMarginUncertain])
}

// unpriced returns the number of attempts with an unpriced class in their charge.
func (s *sums) unpriced() int64 { return s[measureUnpriced] + s[measureMarginUnpriced] }

// marginOf returns the parts of the sums that exceed the cost.
func (s *sums) marginOf() report.Margin {
	return report.Margin{
		Margin: llm.Money(s[measureMargin]), MarginUncertain: llm.Money(s[measureMarginUncertain]),
		MarginUnpriced: s[measureMarginUnpriced],
	}
}

// missed returns what could have been read from prompt caches.
func (s *sums) missed() (m report.Missed) {
	m.Tokens = s[measureMissed]
	for i := range m.Costs {
		m.Costs[i] = llm.Money(s[measureMissCost+i])
	}
	return m
}

func (s *sums) usage() *llm.Usage { return (*llm.Usage)(s[measureUsage:]) }

// dest returns pointers to scan a row's measures into.
func (s *sums) dest() []any {
	dest := make([]any, numMeasures)
	for i := range s {
		dest[i] = &s[i]
	}
	return dest
}

// bucket identifies a row of a rollup.
type bucket struct {
	period                        int64 // yyyymmdd or yyyymmddhh
	account, model, key, provider string
	attribution                   string // only in sums by end user and tags: see attributed.text
}

func compareBuckets(a, b bucket) int {
	return cmp.Or(cmp.Compare(a.period, b.period), strings.Compare(a.account, b.account),
		strings.Compare(a.model, b.model), strings.Compare(a.key, b.key), strings.Compare(a.attribution, b.attribution),
		strings.Compare(a.provider, b.provider))
}

func (b bucket) ofDay() bucket {
	b.period /= 100
	return b
}

// ofPrice returns the bucket of a price's version, which replaces the key.
func (b bucket) ofPrice(version string) bucket {
	return bucket{period: b.period, account: b.account, model: b.model, key: version}
}

// ofUses returns the bucket of a table without keys.
func (b bucket) ofUses() bucket { return bucket{period: b.period, account: b.account, model: b.model} }

// bucketOf returns the bucket of the hour when the attempt's request arrived.
func bucketOf(a *ledger.Attempt) bucket {
	return bucket{period: hourOf(a.Arrived), account: a.Account, model: a.FullModel(), key: a.Key, provider: a.Provider}
}

// sumsOf returns the amounts that a settled attempt adds to its buckets.
func sumsOf(e *ledger.Entry) *sums {
	s := &sums{}
	s.count(e)
	return s
}

// count adds the amounts of a settled attempt.
func (s *sums) count(e *ledger.Entry) {
	s[measureRequests] += number(e.Counts)
	s[measureCost] += int64(e.Cost)
	s[measureTokens] += e.Usage.TotalTokens()
	s[measureAttempts]++
	s[measureErrors] += number(isError(e.Outcome))
	s[measureUnpriced] += number(e.Unpriced != 0)
	s[measureUncertain] += int64(e.MostCost() - e.Cost)
	s[measureMargin] += int64(e.Margin)
	s[measureMarginUncertain] += int64(e.MarginUncertain)
	s[measureMarginUnpriced] += number(e.UnpricedCharge() != 0) - number(e.Unpriced != 0)
	s[measureCached] += number(e.Cached.Hit)
	s[measureSaved] += int64(e.Cached.Saved)
	switch e.Provenance {
	case ledger.Estimated:
		s[measureEstimated]++
	case ledger.Unknown:
		s[measureUnknown]++
	}
	for c, n := range &e.Usage {
		s[measureUsage+c] += n
	}
	causes := promptcache.Causes()
	if i := slices.Index(causes[:], e.Missed.Cause); i >= 0 {
		s[measureMissed] += e.Missed.Tokens
		s[measureMissCost+i] += int64(e.Missed.Cost)
	}
}

// isError reports whether the outcome is an error of the provider. A client that left and a process that died are
// not.
func isError(o ledger.Outcome) bool {
	switch o {
	case ledger.OutcomeRefused, ledger.OutcomeRejected, ledger.OutcomeFailed, ledger.OutcomeCut:
		return true
	}
	return false
}

// buckets holds sums by bucket.
type buckets map[bucket]*sums

func (m buckets) add(b bucket, s *sums) { m.of(b).add(s) }

// of returns the sums of a bucket.
func (m buckets) of(b bucket) *sums {
	s := m[b]
	if s == nil {
		s = &sums{}
		m[b] = s
	}
	return s
}

// addEntry adds a settled attempt to the bucket of its hour.
func (m buckets) addEntry(e *ledger.Entry) { m.add(bucketOf(&e.Attempt), sumsOf(e)) }

// days adds up hours by day.
func (m buckets) days() buckets { return m.folded(bucket.ofDay) }

// uses adds up the keys of an account.
func (m buckets) uses() buckets { return m.folded(bucket.ofUses) }

func (m buckets) folded(fold func(bucket) bucket) buckets {
	into := make(buckets, len(m))
	for b, s := range m {
		into.add(fold(b), s)
	}
	return into
}

// sorted returns the buckets in the order of a table's primary key.
func (m buckets) sorted() []bucket { return slices.SortedFunc(maps.Keys(m), compareBuckets) }

// Tables of sums.
const (
	tableHours       = "rollup_hour"
	tableDays        = "rollup_day"
	tableUses        = "rollup_uses" // days without keys
	tableCheckpoints = "checkpoints" // days of deleted rows
	// tableExplanations has days of deleted rows by the version of their price, which replaces the bucket's key.
	tableExplanations = "explanations"
)

// rollup is a table of sums by bucket.
type rollup struct {
	table        string
	names        []string // columns after the model; the first is in the primary key
	usual, all   []int    // measures
	narrow, wide *insertion
}

const numUsual = 8

// usualMeasures returns the measures that are the only ones of most sums.
func usualMeasures() [numUsual]int {
	return [numUsual]int{
		measureRequests, measureCost, measureTokens, measureAttempts,
		measureUsage + int(llm.Input), measureUsage + int(llm.CacheRead), measureUsage + int(llm.Output), measureUsage +
			int(llm.Requests),
	}
}

// newRollup prepares additions to a table. Most measures of most rows are 0, and each value costs time, so rows that
// only add to the usual measures have a narrower insertion.
func newRollup(table string) *rollup {
	usual := usualMeasures()
	r := &rollup{table: table, names: []string{"key", "provider"}, usual: usual[:]}
	switch table {
	case tableUses:
		r.names = nil
	case tableExplanations:
		r.names = []string{"price"}
	}
	for m := range numMeasures {
		r.all = append(r.all, m)
	}
	r.narrow, r.wide = r.addTo(r.usual), r.addTo(r.all)
	return r
}

// addTo returns the insertion that adds those measures to the table.
func (r *rollup) addTo(measures []int) *insertion {
	names := measureColumns()
	columns, key := []string{"period", "account", "model"}, "period, account, model"
	if columns = append(columns, r.names...); len(r.names) > 0 {
		key += ", " + r.names[0]
	}
	var add []string
	for _, m := range measures {
		columns = append(columns, names[m])
		add = append(add, names[m]+" = "+r.table+"."+names[m]+" + excluded."+names[m])
	}
	return &insertion{
		head:    "INSERT INTO " + r.table + " (" + strings.Join(columns, ", ") + ") VALUES ",
		columns: len(columns),
		tail:    " ON CONFLICT (" + key + ") DO UPDATE SET " + strings.Join(add, ", "),
	}
}

// add adds sums to the table, in the order of its primary key, so that it is walked through once. With arrays, one
// statement inserts all rows: two concurrent ones that share many rows then lock them in one order.
func (r *rollup) add(ctx context.Context, into *bulk, m buckets) error {
	var narrow, wide []bucket
	for b, s := range m {
		if s.within(r.usual) {
			narrow = append(narrow, b)
		} else {
			wide = append(wide, b)
		}
	}
	if into.arrays && len(wide) > 0 {
		narrow, wide = nil, append(wide, narrow...)
	}
	if err := r.write(ctx, into, m, narrow, r.usual, r.narrow); err != nil {
		return err
	}
	return r.write(ctx, into, m, wide, r.all, r.wide)
}

func (r *rollup) write(ctx context.Context, into *bulk, m buckets, names []bucket, measures []int,
	in *insertion,
) error {
	slices.SortFunc(names, compareBuckets)
	_, err := into.insert(ctx, in, len(names), func(dst []any, i int) []any {
		return r.bind(dst, &names[i], m[names[i]], measures)
	})
	return err
}

// bind appends the values of an addition of those measures.
func (r *rollup) bind(dst []any, b *bucket, s *sums, measures []int) []any {
	dst = append(dst, b.period, b.account, b.model)
	dst = append(dst, []any{b.key, b.provider}[:len(r.names)]...)
	for _, m := range measures {
		dst = append(dst, s[m])
	}
	return dst
}

// within reports whether all other measures are 0.
func (s *sums) within(measures []int) bool {
	rest := *s
	for _, m := range measures {
		rest[m] = 0
	}
	return rest == sums{}
}

// addEach adds sums to the table, in the order of its primary key.
func (r *rollup) addEach(ctx context.Context, tx *sql.Tx, m buckets) error {
	for some := range slices.Chunk(m.sorted(), bulkRows) {
		var args []any
		for i := range some {
			args = r.bind(args, &some[i], m[some[i]], r.all)
		}
		if _, err := tx.ExecContext(ctx, r.wide.sql(len(some)), args...); err != nil {
			return fmt.Errorf("%s: %w", r.table, err)
		}
	}
	return nil
}

// rolled is a row of a rollup.
type rolled struct {
	bucket
	sums
}

// columns returns the columns for scanRolled, with empty texts for columns that the table does not have.
func (r *rollup) columns() string {
	names := slices.Concat([]string{"period", "account", "model"}, r.names, []string{"''", "''"}[len(r.names):],
		measureColumns())
	return strings.Join(names, ", ")
}

func scanRolled(row scanner) (r rolled, err error) {
	return r, row.Scan(append([]any{&r.period, &r.account, &r.model, &r.key, &r.provider}, r.dest()...)...)
}

// read reads the rows between two periods.
func (r *rollup) read(ctx context.Context, q querier, from, to int64) (buckets, error) {
	rows, err := q.QueryContext(ctx, "SELECT "+r.columns()+" FROM "+r.table+" WHERE period BETWEEN ? AND ?", from, to)
	m := buckets{}
	err = each(rows, err, scanRolled, func(r *rolled) error {
		m[r.bucket] = &r.sums
		return nil
	})
	return m, err
}
