package store

import (
	"context"
	"database/sql"
	"math"
)

// attributing is a day that is being added up, with the accounts that are next.
type attributing struct {
	day      int64
	upto     string   // requests with a lower id are added up
	tags     []string // the tags that are reported separately; if empty, those that most attempts have
	after    string   // the last account of the previous selection
	accounts []string // the selected accounts, which are not added up
	again    int      // how often it has started again with the first account
	held     bool     // the day is claimed
	refused  bool     // another node has claimed it, or it waits for the next call
	done     bool     // it is added up to upto, or its sums are deleted
}

// claim claims a day and selects some accounts of it. If no account is left, the day is done.
func (s *Attribution) claim(ctx context.Context, p *attributing) error {
	var next attributing
	err := s.write(ctx, s.sure, "claim day", func(tx *sql.Tx) (err error) {
		next = *p // the transaction may be run again
		now := micros(s.clock.now())
		free := now
		if p.held {
			free = math.MaxInt64
		}
		// This makes transactions that settle attempts of the day wait: see addLate.
		n, err := affected(tx.ExecContext(ctx, "INSERT INTO attributed_days (day, state, upto, claimed)"+
			" VALUES (?, ?, ?, ?) ON CONFLICT (day) "+
			"DO UPDATE SET claimed = excluded.claimed, upto = CASE WHEN attributed_days.upto < excluded.upto"+
			" THEN excluded.upto"+
			" ELSE attributed_days.upto END WHERE attributed_days.state = ? AND attributed_days.claimed < ?", p.day,
			notAttributed, p.upto,
			now+claimedFor.Microseconds(), notAttributed, free))
		if err != nil {
			return err
		}
		if n == 0 {
			var state int
			err := tx.QueryRowContext(ctx, "SELECT state FROM attributed_days WHERE day = ?", p.day).Scan(&state)
			next.refused, next.done = true, state != notAttributed
			return err
		}
		return next.choose(ctx, tx, now)
	})
	if err == nil {
		*p = next
	}
	return err
}

// choose selects the next accounts.
func (p *attributing) choose(ctx context.Context, tx *sql.Tx, now int64) (err error) {
	if p.accounts, err = p.left(ctx, tx, p.after); err == nil && len(p.accounts) == 0 && p.after != "" {
		p.accounts, err = p.left(ctx, tx, "") // accounts with attempts that were settled meanwhile
		p.again++
	}
	if err == nil && len(p.accounts) > 0 && p.upto == everyRequest { // the sums over all accounts do not have them
		err = dropSums(ctx, tx, p.day, allAccounts)
	}
	if err == nil && len(p.accounts) == 0 && p.upto == everyRequest {
		if p.accounts, err = notYetTogether(ctx, tx, p.day); p.after == allAccounts {
			p.again++
		}
	}
	switch {
	case err != nil:
		return err
	case len(p.accounts) == 0:
		p.done = true
		state := isAttributed
		if p.upto != everyRequest {
			state = notAttributed
		}
		_, err = tx.ExecContext(ctx, "UPDATE attributed_days SET state = ?, claimed = 0 WHERE day = ?", state, p.day)
		return err
	case p.again > attributeAgain:
		p.refused = true
		_, err = tx.ExecContext(ctx, "UPDATE attributed_days SET claimed = 0 WHERE day = ?", p.day)
		return err
	}
	p.after = p.accounts[len(p.accounts)-1]
	for _, account := range p.accounts {
		_, err := tx.ExecContext(ctx, "INSERT INTO attribution_sums (account, day, version, upto, attempts)"+
			" VALUES (?, ?, ?, '', 0)"+
			" ON CONFLICT (account, day) DO NOTHING", account, p.day, now)
		if err != nil {
			return err
		}
	}
	return nil
}

// left returns some accounts after the given one that are not added up, ordered by id.
func (p *attributing) left(ctx context.Context, tx *sql.Tx, after string) ([]string, error) {
	rows, err := tx.QueryContext(ctx, "SELECT DISTINCT d.account FROM "+tableDays+" d WHERE d.period = ?"+
		" AND d.account > ? AND NOT EXISTS"+
		" (SELECT 1 FROM attribution_sums a WHERE a.account = d.account AND a.day = ? AND a.upto >= ?)"+
		" ORDER BY d.account LIMIT ?",
		p.day, after, p.day, p.upto, attributeAccounts)
	return collect(rows, err, scanOne[string])
}

// notYetTogether returns allAccounts if the sums over all accounts are missing. They are added up last.
func notYetTogether(ctx context.Context, tx *sql.Tx, day int64) (accounts []string, err error) {
	var done bool
	err = tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM attribution_sums WHERE account = ? AND day = ?"+
		" AND sums IS NOT NULL)", allAccounts, day).
		Scan(&done)
	if !done {
		accounts = []string{allAccounts}
	}
	return accounts, err
}
