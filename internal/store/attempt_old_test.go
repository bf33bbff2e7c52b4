package store

import (
	"context"
	"database/sql"
	"strconv"
	"strings"

	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// ChangeRows changes the packed rows, and not the sums.
func (s *Ledger) ChangeRows(ctx context.Context, change func(e *ledger.Entry)) error {
	return s.eachPacked(ctx, func(tx *sql.Tx, r *storedRow) error {
		change(&r.Entry)
		_, err := tx.ExecContext(ctx, "UPDATE attempt_rows SET data = ? WHERE day = ? AND id = ?",
			ledger.AppendPacked(nil, &r.Attempt, &r.Settlement), r.day, []byte(r.id))
		return err
	})
}

// UnpackRows writes packed rows as earlier versions wrote them, if they are among the chosen ones.
func (s *Ledger) UnpackRows(ctx context.Context, chosen func(ledger.AttemptID) bool) error {
	return s.eachPacked(ctx, func(tx *sql.Tx, r *storedRow) error {
		if !chosen(r.ID) {
			return nil
		}
		_, err := tx.ExecContext(ctx, "INSERT INTO attempts ("+attemptColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			r.day, r.ID.Request.String(), int64(r.ID.N), r.journal, r.Account, r.Key, r.FullModel(), micros(r.Opened),
			encodeOpening(&r.Attempt), string(r.Outcome), string(r.Provenance), int64(r.Cost),
			encodeSettlement(&r.Attempt, &r.Settlement))
		if err == nil {
			_, err = tx.ExecContext(ctx, "DELETE FROM attempt_rows WHERE day = ? AND id = ?", r.day, []byte(r.id))
		}
		return err
	})
}

func (s *Ledger) eachPacked(ctx context.Context, fn func(*sql.Tx, *storedRow) error) error {
	query := rowsQuery{to: rowPlace{day: lastDay + 1}, limit: exportPiece}
	return s.write(ctx, s.sure, "change rows", func(tx *sql.Tx) error {
		return walk(ctx, tx, query, func(r *storedRow) error {
			if r.data == nil {
				return nil
			}
			return fn(tx, r)
		})
	})
}

// Rows returns the numbers of packed rows and of rows as earlier versions wrote them.
func (s *Ledger) Rows(ctx context.Context) (packed, old int64, err error) {
	err = s.read.QueryRowContext(ctx, "SELECT (SELECT count(*) FROM attempt_rows), (SELECT count(*) FROM attempts)").
		Scan(&packed, &old)
	return packed, old, err
}

func (o *object) integer(name string, value int64) {
	if value != 0 {
		o.name(name)
		o.b = strconv.AppendInt(o.b, value, 10)
	}
}

func (o *object) counts(name string, u *llm.Usage) {
	if *u != (llm.Usage{}) {
		o.name(name)
		o.b = appendCounts(o.b, (*[llm.NumClasses]int64)(u))
	}
}

// classes writes the member even if the set is empty.
func (o *object) classes(name string, set llm.Classes) {
	o.name(name)
	o.b = rawjson.AppendString(o.b, strings.Join(set.Names(), " "))
}

// encodeOpening encodes the data that is known when an attempt is opened.
func encodeOpening(a *ledger.Attempt) string {
	var buf [256]byte
	o := object{append(buf[:0], '{')}
	if a.Requested != a.FullModel() {
		o.text("requested", a.Requested)
	}
	o.integer("stream", number(a.Stream))
	o.text("price", a.Price.Version)
	o.counts("bound", &a.Bound)
	o.integer("hold", int64(a.Hold))
	o.integer("waited", a.Opened.Sub(a.Arrived).Microseconds())
	if t := a.Terms; t != nil {
		o.name("markup") // written even if it is 0: its presence means that there are terms
		o.b = strconv.AppendInt(o.b, int64(t.Markup), 10)
		o.text("own_price", t.Price.Version)
		o.integer("charge_hold", int64(a.ChargeHold))
	}
	o.text("user", a.Attribution.User)
	o.tags("tags", a.Attribution.Tags)
	o.integer("parts", int64(a.Parts))
	o.text("region", a.Region)
	return o.String()
}

// encodeSettlement encodes the data that is known when an attempt is settled.
func encodeSettlement(a *ledger.Attempt, s *ledger.Settlement) string {
	var buf [256]byte
	o := object{append(buf[:0], '{')}
	o.counts("usage", &s.Usage)
	o.integer("counts", number(s.Counts))
	o.text("finish", string(s.Finish))
	o.text("tier", s.Tier)
	o.text("code", string(s.Code))
	o.integer("status", int64(s.Status))
	o.integer("first_token", s.FirstToken.Microseconds())
	o.integer("duration", s.Duration.Microseconds())
	o.integer("at_most", int64(s.AtMost))
	o.integer("margin", int64(s.Margin))
	o.integer("margin_uncertain", int64(s.MarginUncertain))
	if s.ChargeUnpriced != nil {
		o.classes("charge_unpriced", *s.ChargeUnpriced)
	}
	if s.Unpriced != 0 || !a.Price.Known() {
		// Always written without a price: older rows do not have it, and all their usage is unpriced.
		o.classes("unpriced", s.Unpriced)
	}
	if s.ProviderCost != nil {
		o.name("provider_cost")
		o.b = strconv.AppendInt(o.b, int64(*s.ProviderCost), 10)
	}
	o.integer("billed", number(s.Billed))
	o.text("reply_id", s.ReplyID)
	return o.String()
}

// KindDays returns the days with kinds of attempts, oldest first.
func KindDays(ctx context.Context, s *DB) ([]int64, error) {
	rows, err := s.read.QueryContext(ctx, "SELECT DISTINCT day FROM attempt_kinds ORDER BY day")
	return collect(rows, err, scanOne[int64])
}

// moving is a querier that calls move before its statement number at, from 0.
type moving struct {
	querier
	at   int
	move func() error
}

func (m *moving) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	m.at--
	if m.at == -1 {
		if err := m.move(); err != nil {
			return nil, err
		}
	}
	return m.querier.QueryContext(ctx, query, args...)
}

// FindWhile returns how many rows of an attempt's request are found, and of all days, while move is called before
// statement number at.
func (s *Ledger) FindWhile(ctx context.Context, id ledger.AttemptID, at int, move func() error) (found, all int, err error) {
	list, err := findRequest(ctx, &moving{s.read, at, move}, id.Request)
	if err != nil {
		return 0, 0, err
	}
	query := rowsQuery{to: rowPlace{day: lastDay + 1}, limit: exportPiece}
	rows, err := readRows(ctx, &moving{s.read, at, move}, &query)
	return len(list), len(rows), err
}
