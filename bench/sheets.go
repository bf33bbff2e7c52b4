package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver named pgx

	"weir/internal/store"
)

// sheet holds rows of a table. A nil in the column journal stands for the number of the journal.
type sheet struct {
	table   string
	columns []string
	rows    [][]any
}

func rollupColumns() []string { return append(usesColumns(), "key", "provider") }

func rollupRow(period int64, u *user, f *figures) []any {
	return append(usesRow(period, [2]string{u.account, u.model}, f), u.key, u.provider)
}

// usesColumns returns the columns of a rollup without keys.
func usesColumns() []string {
	return []string{
		"period", "account", "model", "requests", "attempts", "cost", "tokens",
		"use_input", "use_cache_read", "use_output",
	}
}

// usesRow returns a row of such a rollup, for an account and a model.
func usesRow(period int64, of [2]string, f *figures) []any {
	return []any{
		period, of[0], of[1], f.requests, f.requests, f.cost, f.input + f.cached + f.output,
		f.input, f.cached, f.output,
	}
}

// sheets returns the remains of a past day: its rollups, a checkpoint in place of its rows, and its additions to
// balances.
func (s *seeding) sheets(day int) []sheet {
	r := rand.New(rand.NewPCG(2, uint64(day)))
	date := s.first().AddDate(0, 0, day)
	number := int64(date.Year())*1e4 + int64(date.Month())*100 + int64(date.Day())
	hours, days := sheet{"rollup_hour", rollupColumns(), nil}, sheet{"rollup_day", rollupColumns(), nil}
	uses, spent := map[[2]string]*figures{}, map[string]int64{}
	for i, n := range s.dayRequests(r, s.users, day) {
		if n == 0 {
			continue
		}
		u, first, sum := &s.users[i], r.Int64N(24), figures{}
		for h := range min(n, hoursADay) {
			part := n/hoursADay + (n%hoursADay)*(1-h)
			if n < hoursADay {
				part = n
			}
			f := figuresOf(r, u, part)
			sum.add(f)
			hours.rows = append(hours.rows, rollupRow(number*100+(first+h*7)%24, u, &f))
		}
		days.rows = append(days.rows, rollupRow(number, u, &sum))
		entry := [2]string{u.account, u.model}
		if uses[entry] == nil {
			uses[entry] = &figures{}
		}
		uses[entry].add(sum)
		spent[u.account] += sum.cost
		spent[u.key] += sum.cost
	}
	unkeyed := sheet{"rollup_uses", usesColumns(), nil}
	for entry, sum := range uses {
		unkeyed.rows = append(unkeyed.rows, usesRow(number, entry, sum))
	}
	columns := []string{"period", "account", "model", "ttft_200", "ttft_400", "ttft_800", "ttft_1600"}
	speed := sheet{"rollup_speed", columns, nil}
	for entry, sum := range uses {
		half, rest := sum.requests/2, sum.requests-sum.requests/2
		row := []any{number, entry[0], entry[1], half / 2, half - half/2, rest / 2, rest - rest/2}
		speed.rows = append(speed.rows, row)
	}
	balances := sheet{"balances", []string{"scope", "day", "journal", "spent"}, nil}
	for scope, cost := range spent {
		if cost != 0 {
			balances.rows = append(balances.rows, []any{scope, number, nil, cost})
		}
	}
	// Requests arrive in no order of accounts.
	r.Shuffle(len(days.rows), func(i, j int) { days.rows[i], days.rows[j] = days.rows[j], days.rows[i] })
	r.Shuffle(len(hours.rows), func(i, j int) { hours.rows[i], hours.rows[j] = hours.rows[j], hours.rows[i] })
	return append(s.used(day, days.rows), hours, days, unkeyed, sheet{"checkpoints", days.columns, days.rows},
		sheet{"explanations", unkeyed.columns, unkeyed.rows}, balances, speed)
}

// used returns when the keys of a day's sums were last used, for the last past day only, because a key has one row.
func (s *seeding) used(day int, rows [][]any) []sheet {
	if day != s.history()-1 {
		return nil
	}
	at := s.first().AddDate(0, 0, day).Add(12 * time.Hour).UnixMicro()
	used, there := sheet{"key_used", []string{"key", "at"}, nil}, map[any]bool{}
	for _, row := range rows {
		if key := row[len(row)-2]; !there[key] {
			there[key] = true
			used.rows = append(used.rows, []any{key, at})
		}
	}
	return []sheet{used}
}

// writer writes many rows at once.
type writer struct {
	db       *sql.DB
	postgres bool
}

var errElsewhere = errors.New("another process writes to the database: run one command at a time")

func openWriter(o store.Options) (w writer, err error) {
	if w.postgres = !o.URL.IsZero(); w.postgres {
		w.db, err = sql.Open("pgx", o.URL.Reveal())
		return w, err
	}
	u := url.URL{Scheme: "file", Path: o.Path, RawQuery: "_busy_timeout=10000&_txlock=immediate&_synchronous=NORMAL"}
	w.db, err = sql.Open("sqlite", u.String())
	return w, err
}

func (w writer) journals(ctx context.Context) (list []string, err error) {
	rows, err := w.db.QueryContext(ctx, "SELECT journal FROM journals")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() && err == nil {
		var text string
		err = rows.Scan(&text)
		list = append(list, text)
	}
	return list, errors.Join(err, rows.Err())
}

// day writes the sheets and advances the journal from that day to the next, in one transaction.
func (w writer) day(ctx context.Context, journal string, day int, sheets []sheet) error {
	tx, err := w.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // no effect after a commit
	var number int64
	err = tx.QueryRowContext(ctx,
		"UPDATE journals SET position = $1 WHERE journal = $2 AND position = $3 RETURNING number",
		day+1, journal, day).Scan(&number)
	if errors.Is(err, sql.ErrNoRows) {
		return errElsewhere
	}
	for i := range sheets {
		if err == nil {
			err = sheets[i].insert(context.WithoutCancel(ctx), tx, number) // the transaction ends with ctx
		}
	}
	if err != nil {
		return err
	}
	return tx.Commit()
}

// insertRows is how many rows one statement inserts.
const insertRows = 64

func (s *sheet) insert(ctx context.Context, tx *sql.Tx, journal int64) error {
	for some := range slices.Chunk(s.rows, insertRows) {
		text := fmt.Appendf(nil, "INSERT INTO %s (%s) VALUES ", s.table, strings.Join(s.columns, ", "))
		args := make([]any, 0, insertRows*len(s.columns))
		for _, row := range some {
			for i, value := range row {
				if value == nil {
					value = journal
				}
				args = append(args, value)
				text = fmt.Appendf(text, "%c$%d", "(,"[min(i, 1)], len(args))
			}
			text = append(text, "),"...)
		}
		if _, err := tx.ExecContext(ctx, string(text[:len(text)-1]), args...); err != nil {
			return fmt.Errorf("%s: %w", s.table, err)
		}
	}
	return nil
}

// tidy brings the tables into the state that a database reaches by itself after some time.
func (w writer) tidy(ctx context.Context) error {
	statement := "PRAGMA wal_checkpoint(TRUNCATE)"
	if w.postgres {
		statement = "VACUUM ANALYZE"
	}
	_, err := w.db.ExecContext(ctx, statement)
	return err
}
