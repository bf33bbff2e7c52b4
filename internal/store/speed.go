package store

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"weir/internal/ledger"
	"weir/internal/report"
)

const tableSpeed = "rollup_speed"

// speedColumns returns the columns of the buckets of a report.Speed.
func speedColumns() []string {
	columns := make([]string, report.NumSpeeds)
	for i := range columns {
		columns[i] = "ttft_" + strconv.FormatInt(report.SpeedBound(i).Milliseconds(), 10)
	}
	columns[report.NumSpeeds-1] = "ttft_more"
	return columns
}

// speeds holds times to first token by day, account and model.
type speeds map[bucket]*report.Speed

// addEntry counts a complete answer with a first token.
func (m speeds) addEntry(hour *bucket, e *ledger.Entry) {
	if !hasSpeed(e) {
		return
	}
	b := hour.ofDay().ofUses()
	s := m[b]
	if s == nil {
		s = &report.Speed{}
		m[b] = s
	}
	s.Count(e.FirstToken)
}

// hasSpeed reports whether an attempt is a complete answer with a first token.
func hasSpeed(e *ledger.Entry) bool {
	return e.Outcome == ledger.OutcomeOK && e.FirstToken.Microseconds() > 0
}

func insertSpeeds() *insertion {
	columns := speedColumns()
	set := make([]string, len(columns))
	for i, c := range columns {
		set[i] = c + " = " + tableSpeed + "." + c + " + excluded." + c
	}
	return &insertion{
		head:    "INSERT INTO " + tableSpeed + " (period, account, model, " + strings.Join(columns, ", ") + ") VALUES ",
		columns: 3 + len(columns),
		tail:    " ON CONFLICT (period, account, model) DO UPDATE SET " + strings.Join(set, ", "),
	}
}

// addSpeeds writes the times of the batch, in the order of the table's primary key.
func (a *applier) addSpeeds(ctx context.Context) error {
	names := slices.SortedFunc(maps.Keys(a.speeds), compareBuckets)
	_, err := a.bulk.insert(ctx, a.speed, len(names), func(dst []any, i int) []any {
		b := &names[i]
		dst = append(dst, b.period, b.account, b.model)
		for _, n := range a.speeds[*b] {
			dst = append(dst, n)
		}
		return dst
	})
	return err
}
