package store

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/internal/charge"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// kind holds the texts that many attempts of a day and an account share. A row has the number of its kind in place of
// them.
type kind struct {
	day, journal                          int64
	key, provider, model, price, ownPrice string
	requested, region, finish, tier, code string
	served                                string
	status                                int64
}

func kindOf(journal int64, a *ledger.Attempt, s *ledger.Settlement) kind {
	k := kind{
		day: dayOf(a.Arrived), journal: journal, key: a.Key, provider: a.Provider, model: a.Model,
		price: a.Price.Version, requested: a.Requested, region: a.Region, finish: string(s.Finish), tier: s.Tier,
		code: string(s.Code), status: int64(s.Status), served: s.Served.Model,
	}
	if a.Terms != nil {
		k.ownPrice = a.Terms.Price.Version
	}
	return k
}

// storedKind has the columns of a kind.
type storedKind struct {
	day, journal                      int64
	key, model, price, ownPrice, more string
}

const kindColumns = "day, journal, key, model, price, own_price, more"

// stored returns the columns of the kind. Those of two kinds with unreadable texts may be equal.
func (k *kind) stored() storedKind {
	s := storedKind{k.day, k.journal, k.key, k.provider + "/" + k.model, k.price, k.ownPrice, ""}
	o := object{[]byte{'{'}}
	if k.requested != s.model {
		o.text("requested", k.requested)
	}
	o.text("region", k.region)
	o.text("finish", k.finish)
	o.text("tier", k.tier)
	o.text("code", k.code)
	o.text("served", k.served)
	if k.status != 0 {
		o.text("status", strconv.FormatInt(k.status, 10))
	}
	s.more = o.String()
	return s
}

func compareKinds(a, b storedKind) int {
	return cmp.Or(cmp.Compare(a.day, b.day), cmp.Compare(a.journal, b.journal), strings.Compare(a.key, b.key),
		strings.Compare(a.model, b.model), strings.Compare(a.price, b.price),
		strings.Compare(a.ownPrice, b.ownPrice), strings.Compare(a.more, b.more))
}

// setKind sets the texts of an entry from the columns of its kind.
func setKind(e *ledger.Entry, model, ownPrice, more string) (err error) {
	e.Provider, e.Model, _ = strings.Cut(model, "/")
	e.Requested = model
	if ownPrice != "" {
		e.Terms = &charge.Terms{Price: llm.Price{Version: ownPrice}}
	}
	return members(more, func(m rawjson.Member) {
		text := rawjson.Text(m.Value)
		switch m.Name() {
		case "requested":
			e.Requested = text
		case "region":
			e.Region = text
		case "finish":
			e.Finish = llm.FinishReason(text)
		case "tier":
			e.Tier = text
		case "code":
			e.Code = llm.Code(text)
		case "served":
			e.Served.Model = text
		case "status":
			e.Status, err = strconv.Atoi(text)
		}
	}, &err)
}

const (
	// kindsFor is the age of a day from which on its kinds may be deleted. Until kindsKnown, which is a day less, the
	// numbers of its kinds are remembered.
	kindsFor   = 8 * 24 * time.Hour
	kindsKnown = kindsFor - 24*time.Hour
	// mostNumbers bounds how many numbers are remembered.
	mostNumbers = 1 << 16
)

// numbers are the numbers of accounts and kinds in the database. They are stored as the values of statements, which
// allocates once for each.
type numbers struct {
	accounts map[string]any
	kinds    map[kind]any
}

func newNumbers() numbers { return numbers{map[string]any{}, map[kind]any{}} }

// add looks up the missing numbers, and adds the rows that do not exist, in the order of their keys, to avoid
// deadlocks.
func (n *numbers) add(ctx context.Context, tx *sql.Tx, accounts map[string]bool, kinds map[kind]bool) error {
	into := insertion{
		head: "INSERT INTO attempt_accounts (account) VALUES ", columns: 1,
		tail: " ON CONFLICT (account) DO UPDATE SET account = excluded.account RETURNING number, account",
	}
	for some := range slices.Chunk(slices.Sorted(maps.Keys(accounts)), bulkRows) {
		var args []any
		for _, account := range some {
			args = append(args, account)
		}
		rows, err := tx.QueryContext(ctx, into.sql(len(some)), args...)
		err = eachRow(rows, err, func(row scanner) error {
			var number int64
			var account string
			err := row.Scan(&number, &account)
			n.accounts[account] = number
			return err
		})
		if err != nil {
			return fmt.Errorf("numbers of accounts: %w", err)
		}
	}
	byStored := make(map[storedKind][]kind, len(kinds))
	for k := range kinds {
		stored := k.stored()
		byStored[stored] = append(byStored[stored], k)
	}
	for some := range slices.Chunk(slices.SortedFunc(maps.Keys(byStored), compareKinds), bulkRows) {
		if err := n.addKinds(ctx, tx, some, byStored); err != nil {
			return fmt.Errorf("numbers of kinds: %w", err)
		}
	}
	return nil
}

// addKinds looks up the numbers of some kinds. It locks their rows, so that they are not deleted.
func (n *numbers) addKinds(ctx context.Context, tx *sql.Tx, some []storedKind, all map[storedKind][]kind) error {
	into := insertion{
		head: "INSERT INTO attempt_kinds (" + kindColumns + ") VALUES ", columns: 7,
		tail: " ON CONFLICT (" + kindColumns + ") DO UPDATE SET day = excluded.day RETURNING number, " + kindColumns,
	}
	var args []any
	for i := range some {
		k := &some[i]
		args = append(args, k.day, k.journal, k.key, k.model, k.price, k.ownPrice, k.more)
	}
	rows, err := tx.QueryContext(ctx, into.sql(len(some)), args...)
	return eachRow(rows, err, func(row scanner) error {
		var number int64
		var k storedKind
		err := row.Scan(&number, &k.day, &k.journal, &k.key, &k.model, &k.price, &k.ownPrice, &k.more)
		for _, one := range all[k] {
			n.kinds[one] = number
		}
		return err
	})
}

// rowWriter encodes rows of attempt_rows.
type rowWriter struct {
	// known are the numbers that are committed, and fresh those that may not be, or may be deleted when the
	// transaction has ended.
	known, fresh numbers
	from         int64  // the first day whose kinds may be remembered
	buf          []byte // ids and data of the rows since begin
	rows         []rowNumbers
	day          int64
	boxed        any // day
}

// rowNumbers are the numbers of an attempt's account and kind; nil for one that is not known.
type rowNumbers struct {
	id            string // of the account
	day           int64
	account, kind any
}

// begin prepares a transaction at that time.
func (w *rowWriter) begin(now time.Time) {
	w.fresh, w.from, w.buf = newNumbers(), dayOf(now.Add(-kindsKnown)), w.buf[:0]
	if w.known.kinds == nil || len(w.known.kinds)+len(w.known.accounts) > mostNumbers {
		w.known = newNumbers()
	}
}

// commit remembers the numbers of a transaction that was committed.
func (w *rowWriter) commit() {
	maps.Copy(w.known.accounts, w.fresh.accounts)
	for k, number := range w.fresh.kinds {
		if k.day >= w.from {
			w.known.kinds[k] = number
		}
	}
}

// number looks up the numbers of n attempts, for bind.
func (w *rowWriter) number(ctx context.Context, tx *sql.Tx, journal int64, n int,
	at func(i int) (*ledger.Attempt, *ledger.Settlement),
) error {
	w.rows = w.rows[:0]
	var last kind
	var accounts map[string]bool // those that are not known
	var kinds map[kind]bool
	for i := range n {
		a, s := at(i)
		k := kindOf(journal, a, s)
		if i > 0 && k == last && a.Account == w.rows[i-1].id {
			w.rows = append(w.rows, w.rows[i-1])
			continue
		}
		r := w.find(a.Account, &k)
		if r.account == nil || r.kind == nil {
			if kinds == nil {
				accounts, kinds = map[string]bool{}, map[kind]bool{}
			}
			accounts[a.Account], kinds[k] = true, true
		}
		w.rows, last = append(w.rows, r), k
	}
	if len(kinds) == 0 {
		return nil
	}
	if err := w.fresh.add(ctx, tx, accounts, kinds); err != nil {
		return err
	}
	for i := range w.rows {
		if r := &w.rows[i]; r.account == nil || r.kind == nil {
			a, s := at(i)
			k := kindOf(journal, a, s)
			*r = w.find(a.Account, &k)
		}
	}
	return nil
}

// find returns the numbers of an account and a kind; nil for one that is not known.
func (w *rowWriter) find(id string, k *kind) rowNumbers {
	r := rowNumbers{id: id, day: k.day}
	if k.day >= w.from {
		r.kind = w.known.kinds[*k]
	}
	if r.kind == nil {
		r.kind = w.fresh.kinds[*k]
	}
	if r.account = w.known.accounts[id]; r.account == nil {
		r.account = w.fresh.accounts[id]
	}
	return r
}

// bind appends the values of rowValues of the i-th attempt of the last call of number. They are valid until begin is
// called.
func (w *rowWriter) bind(dst []any, i int, state int64, a *ledger.Attempt, s *ledger.Settlement) []any {
	r := &w.rows[i]
	if w.day != r.day || w.boxed == nil {
		w.day, w.boxed = r.day, r.day
	}
	from := len(w.buf)
	w.buf = rowID(w.buf, a.ID)
	middle := len(w.buf)
	w.buf = ledger.AppendPacked(w.buf, a, s)
	return append(dst, w.boxed, w.buf[from:middle:middle], r.account, r.kind, state,
		w.buf[middle:len(w.buf):len(w.buf)])
}

// retainKinds deletes the kinds of the days that have no rows any more, if nothing can remember their numbers.
func (s *Ledger) retainKinds(ctx context.Context) error {
	days, err := daysOf(ctx, s.read, "attempt_kinds", "day", firstDay, dayOf(s.clock.now().Add(-kindsFor))-1)
	for i := 0; i < len(days) && err == nil; i++ {
		var used bool
		err = s.read.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM attempt_rows WHERE day = ?)",
			days[i]).Scan(&used)
		if err == nil && !used {
			err = s.deleteKinds(ctx, days[i])
		}
	}
	return err
}

// deleteKinds deletes the kinds of a day, unless it has rows.
func (s *Ledger) deleteKinds(ctx context.Context, day int64) error {
	return s.writeDeletion(ctx, "delete kinds of attempts", func(tx *sql.Tx) error {
		// A transaction that adds a row has locked the row's kind.
		_, err := tx.ExecContext(ctx, "UPDATE attempt_kinds SET day = day WHERE day = ?", day)
		if err == nil {
			_, err = tx.ExecContext(ctx, "DELETE FROM attempt_kinds WHERE day = ?"+
				" AND NOT EXISTS (SELECT 1 FROM attempt_rows WHERE day = ?)", day, day)
		}
		return err
	})
}
