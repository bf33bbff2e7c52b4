package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"weir/internal/charge"
	"weir/internal/ledger"
	"weir/internal/llm"
)

const (
	// mostSettled bounds the settled attempts that the reports of a moment read once and use together.
	mostSettled = 40_000
	// settledPiece is how many of them a query reads.
	settledPiece = 2000
	// mostKindsBetween is how many kinds between the numbers of two needed ones are read, and mostKinds how many are
	// remembered.
	mostKindsBetween = 20_000
	mostKinds        = 50_000
)

// settledRow is what reports read from the row of a settled attempt.
type settledRow struct {
	id          ledger.AttemptID
	arrived     time.Time
	running     // its sums, in the bucket of its hour
	attribution attributed
	hasSpeed    bool
	first       time.Duration // to the first token
}

// set sets the row from an attempt.
func (r *settledRow) set(e *ledger.Entry) {
	r.id, r.arrived, r.bucket, r.hasSpeed, r.first = e.ID, e.Arrived, bucketOf(&e.Attempt), hasSpeed(e), e.FirstToken
	r.attribution.User = e.Attribution.User
	if r.attribution.Tags = e.Attribution.Tags; len(r.attribution.Tags) > 1 {
		r.attribution = attributedOf(&e.Attribution)
	}
	var s sums
	s.count(e)
	usual := usualMeasures()
	for i, m := range usual {
		r.usual[i] = s[m]
	}
	if !s.within(usual[:]) {
		r.other = new(s)
	}
}

// settledRows reads the rows of settled attempts for the reports of a moment.
type settledRows struct {
	tx       querier
	hasOld   *bool                        // whether there are rows of the old form; nil if that is not known
	read     map[rowsQuery][][]settledRow // in pieces
	left     int                          // how many more rows may be kept in read
	kinds    map[int64]kindTexts
	accounts map[int64]string
	entry    ledger.Entry // the last decoded one
}

// kindTexts are the texts of a kind that reports need.
type kindTexts struct {
	key, model, ownPrice string
	provider, name       string // parts of the model
}

func newSettledRows(tx querier, kinds map[int64]kindTexts) settledRows {
	return settledRows{
		tx: tx, read: map[rowsQuery][][]settledRow{}, left: mostSettled, kinds: kinds, accounts: map[int64]string{},
	}
}

// knownKinds has the texts of kinds that an earlier report has read. A kind never changes, and SQLite gives no number
// twice. A PostgreSQL database that has gone back in time may do so.
type knownKinds struct {
	atomic.Pointer[map[int64]kindTexts]
}

// take returns what is known, for one report at a time.
func (k *knownKinds) take() map[int64]kindTexts {
	if known := k.Swap(nil); known != nil {
		return *known
	}
	return map[int64]kindTexts{}
}

// walk calls fn with each selected row, the first ones first, like the function walk.
func (s *settledRows) walk(ctx context.Context, query rowsQuery, fn func(*settledRow) error) error {
	pieces, isRead := s.read[query]
	for _, piece := range pieces {
		for i := range piece {
			if err := fn(&piece[i]); err != nil {
				return err
			}
		}
	}
	if isRead {
		return nil
	}
	isKept, n := true, 0
	err := s.each(ctx, query, func(piece []settledRow) error {
		n += len(piece)
		if isKept = isKept && n <= s.left; isKept {
			pieces = append(pieces, piece)
		}
		for i := range piece {
			if err := fn(&piece[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && isKept {
		s.read[query], s.left = pieces, s.left-n
	}
	return err
}

// each calls fn with the selected rows, piece by piece.
func (s *settledRows) each(ctx context.Context, query rowsQuery, fn func([]settledRow) error) error {
	if s.hasOld == nil {
		var has bool
		if err := s.tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM attempts)").Scan(&has); err != nil {
			return err
		}
		s.hasOld = &has
	}
	if *s.hasOld {
		return walk(ctx, s.tx, query, func(r *storedRow) error {
			var x settledRow
			x.set(&r.Entry)
			return fn([]settledRow{x})
		})
	}
	for {
		numbered, err := s.piece(ctx, &query)
		if err != nil {
			return err
		}
		piece := make([]settledRow, len(numbered))
		for i := range numbered {
			if err := s.decode(&numbered[i], &piece[i]); err != nil {
				return err
			}
		}
		if err := fn(piece); err != nil || len(piece) < query.limit {
			return err
		}
		last := &numbered[len(piece)-1]
		query.from = placeOf(last.day, last.id).next()
	}
}

// numberedRow is a row with the numbers of its account and kind.
type numberedRow struct {
	day, account, kind int64
	id                 ledger.AttemptID
	data               []byte
}

// piece reads rows, and the texts of their accounts and kinds. A join would read these texts for each row.
func (s *settledRows) piece(ctx context.Context, query *rowsQuery) ([]numberedRow, error) {
	columns := "account, kind, id, data" // each costs as much as the step to the next row
	if !query.isOfDay() {
		columns += ", day"
	}
	text, args := query.inner(columns)
	rows, err := s.tx.QueryContext(ctx, text, args...)
	list := make([]numberedRow, 0, min(query.limit, exportPiece))
	r := numberedRow{day: query.from.day}
	var id, data sql.RawBytes
	dest := []any{&r.account, &r.kind, &id, &data, &r.day}
	if query.isOfDay() {
		dest = dest[:4]
	}
	var all []byte
	err = eachRow(rows, err, func(row scanner) error {
		if err := row.Scan(dest...); err != nil {
			return err
		}
		from := len(all)
		all = append(all, data...)
		r.data = all[from:len(all):len(all)]
		var ok bool
		if r.id, ok = idOfRow(id); !ok {
			return fmt.Errorf("attempt %x: %w", id, errRowID)
		}
		list = append(list, r)
		return nil
	})
	if err != nil {
		return nil, err
	}
	var accounts, kinds []int64
	for i := range list {
		if _, known := s.accounts[list[i].account]; !known {
			accounts = append(accounts, list[i].account)
		}
		if _, known := s.kinds[list[i].kind]; !known {
			kinds = append(kinds, list[i].kind)
		}
	}
	if len(s.kinds) > mostKinds {
		clear(s.kinds)
		for i := range list {
			kinds = append(kinds, list[i].kind)
		}
	}
	err = s.texts(ctx, "SELECT number, account, '', '' FROM attempt_accounts", accounts, func(n int64, t *[3]string) {
		s.accounts[n] = t[0]
	})
	if err != nil {
		return nil, err
	}
	return list, s.texts(ctx, "SELECT number, key, model, own_price FROM attempt_kinds", kinds,
		func(n int64, t *[3]string) {
			k := kindTexts{key: t[0], model: t[1], ownPrice: t[2]}
			k.provider, k.name, _ = strings.Cut(k.model, "/")
			s.kinds[n] = k
		})
}

// texts reads the texts with those numbers, and others between them if that takes one range.
func (s *settledRows) texts(ctx context.Context, query string, numbers []int64, take func(int64, *[3]string)) error {
	if len(numbers) == 0 {
		return nil
	}
	slices.Sort(numbers)
	numbers = slices.Compact(numbers)
	read := func(where string, args ...any) error {
		rows, err := s.tx.QueryContext(ctx, query+where, args...)
		return eachRow(rows, err, func(row scanner) error {
			var n int64
			var t [3]string
			if err := row.Scan(&n, &t[0], &t[1], &t[2]); err != nil {
				return err
			}
			take(n, &t)
			return nil
		})
	}
	if first, last := numbers[0], numbers[len(numbers)-1]; last-first < mostKindsBetween {
		return read(" WHERE number BETWEEN ? AND ?", first, last)
	}
	for some := range slices.Chunk(numbers, bulkRows) {
		if err := read(" WHERE " + isOn("number", some...)); err != nil {
			return err
		}
	}
	return nil
}

func (s *settledRows) decode(r *numberedRow, to *settledRow) error {
	k, there := s.kinds[r.kind]
	account, known := s.accounts[r.account]
	if !there || !known {
		return fmt.Errorf("attempt %s: its kind %d or account %d is missing", r.id, r.kind, r.account)
	}
	e := &s.entry
	*e = ledger.Entry{}
	e.ID, e.Account, e.Key, e.Provider, e.Model = r.id, account, k.key, k.provider, k.name
	if k.ownPrice != "" {
		e.Terms = &charge.Terms{Price: llm.Price{Version: k.ownPrice}}
	}
	if err := ledger.Unpack(r.data, e); err != nil {
		return err
	}
	to.set(e)
	to.model = k.model
	return nil
}
