package store_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/report"
	"weir/internal/store"
)

// TestAttributionOfDeadNodeIsRestarted checks that a day whose node died while adding it up is added up by another one,
// from the beginning, and not while the first may still be working.
func TestAttributionOfDeadNodeIsRestarted(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, o store.Options) {
		now := noonOfOpenings
		o.Clock = func() time.Time { return now }
		s := open(t, o)
		e := settled(now.AddDate(0, 0, -1), 1)
		e.Attribution = llm.Attribution{User: "ada"}
		must.Do(t, s.Ledger.Apply(t.Context(), batchOf(uuid.New(), 0, e)))
		tamper(t, o, fmt.Sprintf("UPDATE attributed_days SET claimed = %d", now.Add(5*time.Minute).UnixMicro()))
		tamper(t, o, "INSERT INTO attribution_sums (account, day, version, upto, attempts) VALUES ('a', 20261120, 7, '', 0)")
		requests := func() (n int64) {
			for _, u := range must.Get(s.Reports.Uses(t.Context(), report.UsesQuery{Account: "a", By: []report.Dimension{report.ByUser}, Limit: 9}))(t).Uses {
				n += u.Requests
			}
			return n
		}
		state := func() (state int) {
			db := behind(t, o)
			defer db.Close()
			must.Do(t, db.QueryRowContext(t.Context(), "SELECT state FROM attributed_days").Scan(&state))
			return state
		}
		for _, x := range []struct {
			after time.Duration
			state int
		}{{0, 0}, {6 * time.Minute, 1}} {
			now = now.Add(x.after)
			must.Do(t, s.Attribution.Attribute(t.Context(), now.AddDate(0, 0, -2), nil))
			if got := state(); got != x.state || requests() != 1 {
				t.Errorf("after %s: state %d and %d requests, want %d and 1", x.after, got, requests(), x.state)
			}
		}
		if v := must.Get(s.Ledger.Verify(t.Context(), nil))(t); len(v.Differences) > 0 {
			t.Errorf("verify: got %+v", v.Differences)
		}
	})
}

// attributedOn builds an attempt of a user on a day, with a cost.
func attributedOn(at time.Time, n int, user string, tags ...llm.Tag) ledger.Entry {
	e := settled(at, n)
	e.Attribution = llm.Attribution{User: user, Tags: tags}
	return e
}

// requestsBy counts requests by the values of a dimension, "" for none.
func requestsBy(t *testing.T, s *store.DB, d report.Dimension) map[string]int64 {
	t.Helper()
	all := map[string]int64{}
	for _, u := range must.Get(s.Reports.Uses(t.Context(), report.UsesQuery{Account: "a", By: []report.Dimension{d}, Limit: 20_000}))(t).Uses {
		name := ""
		if u.Group[0] != nil {
			name = *u.Group[0]
		}
		if all[name] = u.Requests; u.Cost < 0 {
			t.Errorf("%s %q costs %s", d, name, u.Cost)
		}
	}
	return all
}

// TestAttributionBounded checks that with many end users, sessions, keys and models the tags with few values stay
// separate, and that adding up is not slower.
func TestAttributionBounded(t *testing.T) {
	t.Parallel()
	now := noonOfOpenings
	o := engines()["SQLite"](t)
	o.Clock = func() time.Time { return now }
	s := open(t, o)
	var list []ledger.Entry
	for n := range 24_000 {
		e := attributedOn(now.AddDate(0, 0, -1), n, fmt.Sprint("user ", n), llm.Tag{Name: "team", Value: []string{"x", "y"}[n%2]},
			llm.Tag{Name: "session", Value: fmt.Sprint(n)})
		if n >= 12_000 {
			e.Arrived = e.Arrived.AddDate(0, 0, -1)
			e.Key, e.Model, e.Attribution.User = fmt.Sprint("key ", n%1000), fmt.Sprint("model ", n/1000), "one of many keys"
		}
		list = append(list, e)
	}
	must.Do(t, s.Ledger.Apply(t.Context(), batchOf(uuid.New(), 0, list...)))
	before := requestsBy(t, s, report.ByTag("team"))
	must.Do(t, s.Attribution.Attribute(t.Context(), now.AddDate(0, 0, -3), nil))
	must.Equal(t, requestsBy(t, s, report.ByTag("team")), before, "by team")
	if got := requestsBy(t, s, report.ByUser); got[report.Other] < 10_000 || got["one of many keys"] != 12_000 {
		t.Errorf("by user: %d of others and %d of one, want 10,000 and 12,000", got[report.Other], got["one of many keys"])
	}
	must.Do(t, s.Corrections.Correct(t.Context(), audit.Gateway(), ledger.Correct{ID: list[7].ID, Amount: -1, Reason: "x"}))
	requestsBy(t, s, report.ByUser) // whose correction includes others, too
}

// TestAttributionLate checks attempts that are settled late: while a clock that was ahead had the day added up, by a
// node that did not add to the sums, and after the account was closed.
func TestAttributionLate(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, o store.Options) {
		now := noonOfOpenings
		o.Clock = func() time.Time { return now }
		s := open(t, o)
		must.Do(t, s.Accounts.CreateAccount(t.Context(), audit.Gateway(), account.Account{ID: "a", Name: "a", Created: now}))
		j, at := uuid.New(), ledger.Position(0)
		apply := func(e ledger.Entry) {
			t.Helper()
			must.Do(t, s.Ledger.Apply(t.Context(), batchOf(j, at, e)))
			at++
		}
		check := func(what string, want int64) {
			t.Helper()
			if got := requestsBy(t, s, report.ByUser); got["ada"] != want {
				t.Errorf("%s: got %v, want %d of ada", what, got, want)
			}
			if v := must.Get(s.Ledger.Verify(t.Context(), nil))(t); len(v.Differences) > 0 && v.Differences[0].Rollup == "attribution" {
				t.Errorf("%s: verify: %+v", what, v.Differences)
			}
		}
		first := attributedOn(now, 1, "ada")
		apply(first)
		right := now
		now = right.AddDate(0, 0, 2)
		must.Do(t, s.Attribution.Attribute(t.Context(), right, nil))
		now = right.Add(time.Minute)
		apply(attributedOn(now, 2, "ada"))
		check("a clock that was ahead", 2)
		now = right.AddDate(0, 0, 1).Add(time.Hour)
		must.Do(t, s.Corrections.Correct(t.Context(), audit.Gateway(), ledger.Correct{ID: first.ID, Amount: -1, Reason: "x"}))
		tamper(t, o, "UPDATE corrections SET attribution = ''")
		tamper(t, o, "UPDATE attribution_sums SET attempts = 0")
		apply(attributedOn(now, 4, "bob"))
		now = right.AddDate(0, 0, 2).Add(13 * time.Hour)
		must.Do(t, s.Attribution.Attribute(t.Context(), right, nil))
		check("sums that lack attempts, of a day before one that has all", 2)
		must.Get(s.Accounts.CloseAccount(t.Context(), audit.Gateway(), "a", now))(t)
		apply(attributedOn(right, 3, "ada"))
		must.Do(t, s.Corrections.Correct(t.Context(), audit.Gateway(), ledger.Correct{ID: first.ID, Amount: -1, Reason: "y"}))
		check("of a closed account", 0)
		db := behind(t, o)
		defer db.Close()
		rows := must.Get(db.QueryContext(t.Context(), "SELECT sums FROM attribution_sums"))(t)
		defer rows.Close()
		for rows.Next() {
			var sums []byte
			must.Do(t, rows.Scan(&sums))
			if bytes.Contains(sums, []byte("ada")) {
				t.Error("the sums of a closed account name an end user")
			}
		}
		must.Do(t, rows.Err())
		var named int
		must.Do(t, db.QueryRowContext(t.Context(), "SELECT count(*) FROM corrections WHERE attribution <> ''").Scan(&named))
		if named > 0 {
			t.Errorf("%d corrections name end users of a closed account", named)
		}
	})
}

// TestAttributionDuringSettlements checks that a day has all attempts, each once, if two nodes add it up while others
// of its attempts are settled and an account is closed.
func TestAttributionDuringSettlements(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, o store.Options) {
		now := noonOfOpenings
		o.Clock = func() time.Time { return now }
		s := open(t, o)
		const accounts, rounds = 120, 40 // more accounts than are added up at a time
		entryOf := func(n int) ledger.Entry {
			e := attributedOn(now.AddDate(0, 0, -1), n, fmt.Sprint("user ", n%3))
			e.Account = fmt.Sprint("a", n%accounts)
			return e
		}
		var first []ledger.Entry
		for n := range accounts {
			first = append(first, entryOf(n))
		}
		must.Do(t, s.Accounts.CreateAccount(t.Context(), audit.Gateway(), account.Account{ID: "a7", Name: "a7", Created: now}))
		j := uuid.New()
		must.Do(t, s.Ledger.Apply(t.Context(), batchOf(j, 0, first...)))
		var nodes sync.WaitGroup
		defer nodes.Wait()
		for range 2 {
			nodes.Go(func() {
				for range 3 {
					if err := s.Attribution.Attribute(t.Context(), now.AddDate(0, 0, -2), nil); err != nil {
						t.Error(err)
					}
				}
			})
		}
		for round := range rounds {
			e := entryOf(accounts + round*7)
			must.Do(t, s.Ledger.Apply(t.Context(), batchOf(j, ledger.Position(1+round), e)))
			if round == rounds/2 {
				must.Get(s.Accounts.CloseAccount(t.Context(), audit.Gateway(), "a7", now))(t)
			}
		}
		nodes.Wait()
		now = now.Add(time.Hour)
		must.Do(t, s.Attribution.Attribute(t.Context(), now.AddDate(0, 0, -2), nil))
		db := behind(t, o)
		defer db.Close()
		var state int
		must.Do(t, db.QueryRowContext(t.Context(), "SELECT state FROM attributed_days").Scan(&state))
		must.Equal(t, state, 1, "state of the day")
		page := must.Get(s.Reports.Uses(t.Context(), report.UsesQuery{All: true, By: []report.Dimension{report.ByUser, report.ByAccount}, Limit: 1000}))(t)
		must.Equal(t, page.Total.Requests, int64(accounts+rounds), "requests")
		for _, u := range page.Uses {
			if *u.Group[1] == "a7" && u.Group[0] != nil {
				t.Errorf("%d requests of the closed account are of %s", u.Requests, *u.Group[0])
			}
		}
		if v := must.Get(s.Ledger.Verify(t.Context(), nil))(t); len(v.Differences) > 0 {
			t.Errorf("verify: %+v", v.Differences)
		}
	})
}

// TestAttributionCorrected checks that a correction, and a late settlement, belong to the same end user and tags as
// their attempt, even if not all of its tags are separate.
func TestAttributionCorrected(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, o store.Options) {
		now := noonOfOpenings
		o.Clock = func() time.Time { return now }
		s := open(t, o)
		team, day := llm.Tag{Name: "team", Value: "x"}, now.AddDate(0, 0, -1)
		e := attributedOn(day, 1, "ada", team, llm.Tag{Name: "session", Value: "7"})
		must.Do(t, s.Ledger.Apply(t.Context(), batchOf(uuid.New(), 0, e, attributedOn(day, 2, "bob", team))))
		must.Do(t, s.Corrections.Correct(t.Context(), audit.Gateway(), ledger.Correct{ID: e.ID, Amount: -2, Reason: "x"}))
		costs := func() (all []string) {
			for _, d := range []report.Dimension{report.ByUser, report.ByTag("team"), report.ByTag("session")} {
				q := report.UsesQuery{Account: "a", By: []report.Dimension{d}, Limit: 9}
				for _, u := range must.Get(s.Reports.Uses(t.Context(), q))(t).Uses {
					name := "none"
					if u.Group[0] != nil {
						name = *u.Group[0]
					}
					all = append(all, name+" "+u.Cost.String())
				}
			}
			return all
		}
		before := costs()
		must.Do(t, s.Attribution.Attribute(t.Context(), now.AddDate(0, 0, -2), []string{"team"}))
		for i := range before {
			if before[i] == "7 0.000000001" {
				before[i] = "(other) 0.000000001"
			}
		}
		must.Equal(t, costs(), before, "costs by user, team and session")
		must.Do(t, s.Ledger.Apply(t.Context(), batchOf(uuid.New(), 0, attributedOn(day, 3, "eve", team, llm.Tag{Name: "session", Value: "secret"}))))
		must.Equal(t, requestsBy(t, s, report.ByTag("session")), map[string]int64{report.Other: 2, "": 1}, "requests by session")
	})
}

// TestAttributionDamaged checks that unreadable sums block nothing: they are reported, and added up again when an
// attempt of the day is settled.
func TestAttributionDamaged(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, o store.Options) {
		now := noonOfOpenings
		o.Clock = func() time.Time { return now }
		s, j := open(t, o), uuid.New()
		must.Do(t, s.Ledger.Apply(t.Context(), batchOf(j, 0, attributedOn(now.AddDate(0, 0, -1), 1, "ada"))))
		must.Do(t, s.Attribution.Attribute(t.Context(), now.AddDate(0, 0, -2), nil))
		db := behind(t, o)
		defer db.Close()
		must.Get(db.ExecContext(t.Context(), "UPDATE attribution_sums SET sums = $1 WHERE account = 'a'", []byte{2, 1}))(t)
		if v := must.Get(s.Ledger.Verify(t.Context(), nil))(t); len(v.Differences) == 0 || v.Differences[0].Rollup != "attribution" {
			t.Errorf("verify: got %+v, want differences", v.Differences)
		}
		must.Do(t, s.Ledger.Apply(t.Context(), batchOf(j, 1, attributedOn(now.AddDate(0, 0, -1), 2, "ada"))))
		must.Equal(t, requestsBy(t, s, report.ByUser), map[string]int64{"ada": 2}, "requests before they are added up")
		must.Do(t, s.Attribution.Attribute(t.Context(), now.AddDate(0, 0, -2), nil))
		must.Equal(t, requestsBy(t, s, report.ByUser), map[string]int64{"ada": 2}, "requests")
		if v := must.Get(s.Ledger.Verify(t.Context(), nil))(t); len(v.Differences) > 0 {
			t.Errorf("verify: %+v", v.Differences)
		}
	})
}

// TestCorrectionDuringClosingLeavesNoUser checks that a correction during the closing of an account leaves no end user.
func TestCorrectionDuringClosingLeavesNoUser(t *testing.T) {
	t.Parallel()
	o := engines()["PostgreSQL"](t)
	now := noonOfOpenings
	o.Clock = func() time.Time { return now }
	s, j := open(t, o), uuid.New()
	db := behind(t, o)
	defer db.Close()
	for i := range 5 {
		id := fmt.Sprint("acc", i)
		must.Do(t, s.Accounts.CreateAccount(t.Context(), audit.Gateway(), account.Account{ID: id, Name: id, Created: now}))
		e := attributedOn(now.AddDate(0, 0, -1), i, "ada")
		e.Account = id
		must.Do(t, s.Ledger.Apply(t.Context(), batchOf(j, ledger.Position(i), e)))
		tx := must.Get(db.BeginTx(t.Context(), nil))(t) // another transaction that writes to the feed of changes, for which both wait
		must.Get(tx.ExecContext(t.Context(), "SELECT pg_advisory_xact_lock(2003134834, 2)"))(t)
		var both sync.WaitGroup
		both.Go(func() {
			if _, err := s.Accounts.CloseAccount(t.Context(), audit.Gateway(), id, now); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(20 * time.Millisecond)
		both.Go(func() {
			if err := s.Corrections.Correct(t.Context(), audit.Gateway(), ledger.Correct{ID: e.ID, Amount: -1, Reason: "x"}); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(30 * time.Millisecond)
		must.Do(t, tx.Rollback())
		both.Wait()
		var named int
		must.Do(t, db.QueryRowContext(t.Context(), "SELECT count(*) FROM corrections WHERE attribution <> ''").Scan(&named))
		must.Equal(t, named, 0, "corrections that name an end user")
	}
}

// TestAttributionRepaired checks that sums without the attempts of an older version's node are added up again, however
// old, and also those of many accounts with late settlements.
func TestAttributionRepaired(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, o store.Options) {
		now := noonOfOpenings
		o.Clock = func() time.Time { return now }
		s, j := open(t, o), uuid.New()
		var list, late []ledger.Entry
		for n := range 60 {
			e := attributedOn(now.AddDate(0, 0, -1-n%6), n, "ada")
			e.Account = fmt.Sprint("a", n%30)
			list = append(list, e)
			e.ID.Request, e.Attribution.User = uuid.New(), "bob"
			if e.Arrived.Day() == 18 {
				late = append(late, e)
			}
			e.ID.Request, e.Account = uuid.New(), fmt.Sprint("b", n)
			late = append(late, e)
		}
		must.Do(t, s.Ledger.Apply(t.Context(), batchOf(j, 0, list...)))
		attribute := func() { must.Do(t, s.Attribution.Attribute(t.Context(), now.AddDate(0, 0, -9), nil)) }
		check := func(what string, want int) {
			t.Helper()
			q := report.UsesQuery{All: true, By: []report.Dimension{report.ByUser}, Limit: 9}
			must.Equal(t, must.Get(s.Reports.Uses(t.Context(), q))(t).Total.Requests, int64(want), "%s", what)
			if v := must.Get(s.Ledger.Verify(t.Context(), nil))(t); len(v.Differences) > 0 {
				t.Errorf("%s: verify: %+v", what, v.Differences[0])
			}
		}
		attribute()
		must.Do(t, s.Ledger.Apply(t.Context(), batchOf(j, 1, late...)))
		check("settled late", len(list)+len(late))
		attribute()
		check("settled late, and added up", len(list)+len(late))
		tamper(t, o, "UPDATE attribution_sums SET attempts = attempts - 1 WHERE day = 20261116 AND account LIKE 'a%'")
		for range 24 { // in one of these hours the day is checked
			now = now.Add(time.Hour)
			attribute()
		}
		check("checked", len(list)+len(late))
	})
}

// TestAttributionSoFar checks that in a day that is not over, the requests of finished half hours are read from sums
// and the others from rows, for one account and for all, also after later settlements.
func TestAttributionSoFar(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, o store.Options) {
		now := noonOfOpenings
		o.Clock = func() time.Time { return now }
		s, j, at, n := open(t, o), uuid.New(), ledger.Position(0), 0
		entryOf := func(account, user string, before time.Duration) ledger.Entry {
			n++
			e := attributedOn(now.Add(-before), n, user)
			e.Account = account
			binary.BigEndian.PutUint64(e.ID.Request[:], uint64(e.Arrived.UnixMilli())<<16|0x7000)
			return e
		}
		apply := func(list ...ledger.Entry) {
			t.Helper()
			must.Do(t, s.Ledger.Apply(t.Context(), batchOf(j, at, list...)))
			at++
		}
		first := entryOf("a", "ada", time.Hour)
		apply(first, entryOf("b", "ada", 2*time.Hour))
		apply(entryOf("a", "bob", 10*time.Minute))
		must.Do(t, s.Attribution.Attribute(t.Context(), now, nil))
		must.Do(t, s.Corrections.Correct(t.Context(), audit.Gateway(), ledger.Correct{ID: first.ID, Amount: -1, Reason: "x"}))
		apply(entryOf("a", "ada", 3*time.Hour), entryOf("c", "eve", 3*time.Hour)) // which took long
		apply(entryOf("b", "eve", 0))
		check := func(what string) {
			t.Helper()
			for _, q := range []struct {
				account string
				want    map[string]string
			}{
				{"a", map[string]string{"ada": "2 0.000000005", "bob": "1 0.000000003"}},
				{"", map[string]string{"ada": "3 0.000000008", "bob": "1 0.000000003", "eve": "2 0.000000006"}},
			} {
				got := map[string]string{}
				page := must.Get(s.Reports.Uses(t.Context(), report.UsesQuery{All: true, Account: q.account, By: []report.Dimension{report.ByUser}, Limit: 9}))(t)
				for _, u := range page.Uses {
					got[*u.Group[0]] = fmt.Sprint(u.Requests, " ", u.Cost)
				}
				must.Equal(t, got, q.want, "%s, of account %q", what, q.account)
			}
		}
		check("so far")
		must.Do(t, s.Attribution.Attribute(t.Context(), now, nil))
		check("once more")
		before := entryOf("a", "", 30*time.Minute).ID.Request.String()
		must.Do(t, s.Ledger.ChangeRows(t.Context(), func(e *ledger.Entry) {
			if e.ID.Request.String() < before {
				e.Attribution = llm.Attribution{}
			}
		}))
		check("with rows that do not say who it was")
		db := behind(t, o)
		defer db.Close()
		must.Get(db.ExecContext(t.Context(), "UPDATE attribution_sums SET sums = $1 WHERE account = 'c'", []byte{2, 1}))(t)
		must.Do(t, s.Ledger.ChangeRows(t.Context(), func(e *ledger.Entry) {
			if e.Account == "c" {
				e.Attribution = llm.Attribution{User: "eve"}
			}
		}))
		now = now.Add(time.Minute)
		must.Do(t, s.Attribution.Attribute(t.Context(), now, nil))
		now = now.Add(-time.Minute)
		check("with sums of an account that could not be read")
		now = now.AddDate(0, 0, 1)
		must.Do(t, s.Attribution.Attribute(t.Context(), now.AddDate(0, 0, -1), nil))
		check("over")
		if v := must.Get(s.Ledger.Verify(t.Context(), nil))(t); len(v.Differences) > 0 && v.Differences[0].Rollup == "attribution" {
			t.Errorf("verify: %+v", v.Differences)
		}
	})
}

// TestAttributionOfNewAccount checks that the sums of all accounts include one whose first attempt is settled when a
// node that adds the day up dies after the sums of all.
func TestAttributionOfNewAccount(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, o store.Options) {
		now := noonOfOpenings
		o.Clock = func() time.Time { return now }
		s, j := open(t, o), uuid.New()
		first, late := attributedOn(now.AddDate(0, 0, -1), 1, "ada"), attributedOn(now.AddDate(0, 0, -1), 2, "eve")
		late.Account = "z"
		must.Do(t, s.Ledger.Apply(t.Context(), batchOf(j, 0, first)))
		must.Do(t, s.Attribution.Attribute(t.Context(), now.AddDate(0, 0, -2), nil))
		tamper(t, o, "UPDATE attributed_days SET state = 0")
		must.Do(t, s.Ledger.Apply(t.Context(), batchOf(j, 1, late)))
		must.Do(t, s.Attribution.Attribute(t.Context(), now.AddDate(0, 0, -2), nil))
		page := must.Get(s.Reports.Uses(t.Context(), report.UsesQuery{All: true, By: []report.Dimension{report.ByUser}, Limit: 9}))(t)
		must.Equal(t, page.Total.Requests, int64(2), "requests of all accounts")
		if v := must.Get(s.Ledger.Verify(t.Context(), nil))(t); len(v.Differences) > 0 {
			t.Errorf("verify: %+v", v.Differences)
		}
	})
}
