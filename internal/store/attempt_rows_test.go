package store_test

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"weir/internal/audit"
	"weir/internal/budget"
	"weir/internal/charge"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/report"
	"weir/internal/store"
)

// mixedEntry returns a random settled attempt with any of its fields.
func mixedEntry(r *rand.Rand, n int) ledger.Entry {
	at := time.Date(2026, 11, 18+n/2%4, r.IntN(24), r.IntN(60), 0, r.IntN(1e6)*1000, time.UTC)
	e := settled(at, n/2)
	e.ID.N = uint16(1 + n%2)
	if n%3 == 0 {
		e.ID.Request = uuidAt(at, rand.New(rand.NewPCG(uint64(n/2), 1)))
	}
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	e.Account, e.Key, e.Requested = pick("a", "b"), pick("k", "l"), pick("p/m", "fast", "x\x00 ü")
	e.Region, e.Tier, e.Finish = pick("", "eu"), pick("", "flex", "\x01\""), llm.FinishReason(pick("", "stop"))
	e.Stream, e.Status, e.Opened = r.IntN(2) == 0, []int{0, 200, 503}[r.IntN(3)], at.Add(time.Duration(r.IntN(1e6))*time.Microsecond)
	e.Attribution.User = pick("", "eve")
	if r.IntN(2) == 0 {
		e.Attribution.Tags = []llm.Tag{{Name: "team", Value: pick("x", "ü=,")}}
		e.Parts = budget.Parts(0).Tag(budget.AccountPart, 0)
	}
	e.Bound, e.Hold = llm.Usage{llm.Input: r.Int64N(100), llm.Output: 50}, llm.Money(r.Int64N(1e6))
	e.FirstToken, e.Duration = time.Duration(r.IntN(1e6))*time.Microsecond, time.Duration(r.IntN(1e8))*time.Microsecond
	e.Counts = e.ID.N == 1
	switch r.IntN(6) {
	case 0:
		e.Provenance, e.AtMost, e.ReplyID = ledger.Estimated, e.Cost+5, "reply-ü"
	case 1:
		e.Provenance, e.AtMost = ledger.Assumed, e.Cost+9
	case 2:
		e.Outcome, e.Provenance, e.Hold, e.AtMost, e.Code = ledger.OutcomeUnknown, ledger.Unknown, e.Cost, e.Cost, "BUSY"
	case 3:
		e.ProviderCost, e.Billed = new(e.Cost), true
	case 4:
		e.Terms = &charge.Terms{Markup: 2500}
		e.ChargeHold = 77
		e.SetCharge(&e.Settlement)
	}
	return e
}

// fillMixed applies n mixed attempts, opens some, resolves some and corrects some.
func fillMixed(t *testing.T, s *store.DB, n int) {
	t.Helper()
	r := rand.New(rand.NewPCG(3, 4))
	var list []ledger.Entry
	ids := map[ledger.AttemptID]bool{}
	for i := range n {
		if e := mixedEntry(r, i); !ids[e.ID] {
			list, ids[e.ID] = append(list, e), true
		}
	}
	b := batchOf(uuid.UUID{1}, 0, list...)
	for i := range 5 {
		b.Opened = append(b.Opened, settled(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), -1-i).Attempt)
	}
	must.Do(t, s.Ledger.Apply(t.Context(), b))
	for i := range list {
		e := &list[i]
		if e.IsUncertain() && i%3 == 0 {
			must.Do(t, s.Corrections.Resolve(t.Context(), audit.Gateway(), e.ID, 2, i%2 == 0))
		}
		if i%7 == 0 {
			must.Do(t, s.Corrections.Correct(t.Context(), audit.Gateway(), ledger.Correct{ID: e.ID, Amount: 1, Reason: "x"}))
		}
	}
}

// ledgerView holds the reports of the rows.
type ledgerView struct {
	Exported     []report.Exported
	Explained    []report.Explanation
	Requests     map[string][]report.Request
	Unseen       []report.UnseenSum
	UnseenRows   []ledger.Entry
	Uses         []report.UsesPage
	Older        ledger.Resolution
	Open         []ledger.Attempt
	Verification report.Verification
	Beside       llm.Money
}

func viewOf(t *testing.T, s *store.DB) (all ledgerView) {
	t.Helper()
	ctx := t.Context()
	must.Do(t, s.Reports.Export(ctx, report.ExportQuery{}, func(e *report.Exported) error {
		all.Exported = append(all.Exported, *e)
		return nil
	}))
	must.Do(t, s.Reports.Explain(ctx, report.ExportQuery{}, func(e *report.Explanation) error {
		all.Explained = append(all.Explained, *e)
		return nil
	}))
	all.Requests = map[string][]report.Request{}
	for _, ended := range []report.Ended{"", report.EndedOK, report.EndedUnseen, report.EndedError} {
		for next := (report.Cursor{}); ; {
			q := report.RequestsQuery{Account: "a", Limit: 30, Ended: ended, After: next, Model: []string{"", "fast"}[len(ended)%2]}
			list, more, err := s.Reports.Requests(ctx, q)
			must.Do(t, err)
			all.Requests[string(ended)] = append(all.Requests[string(ended)], list...)
			if next = more; next == (report.Cursor{}) {
				break
			}
		}
	}
	for _, by := range [][]report.Dimension{{report.ByUser}, {report.ByHour, report.ByTag("team")}} {
		all.Uses = append(all.Uses, must.Get(s.Reports.Uses(ctx, report.UsesQuery{Account: "b", By: by, Limit: 1000}))(t))
	}
	all.Unseen = must.Get(s.Reports.Unseen(ctx, "", ""))(t)
	all.UnseenRows = must.Get(s.Reports.UnseenAttempts(ctx, "2026-11-20", "p/m", 1000))(t)
	all.Older = must.Get(s.Corrections.ResolveOlder(ctx, audit.Gateway(), ledger.ResolveQuery{
		Before: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC), Rule: ledger.RuleAtMost, DryRun: true,
	}, nil))(t)
	all.Open = must.Get(s.Ledger.OpenAttempts(ctx, uuid.UUID{1}))(t)
	slices.SortFunc(all.Open, func(a, b ledger.Attempt) int { return cmp.Compare(a.ID.String(), b.ID.String()) })
	all.Verification = must.Get(s.Ledger.Verify(ctx, nil))(t)
	all.Beside = must.Get(s.Ledger.SpentWithoutRows(ctx, "a", 20260101, 20270101))(t)
	return all
}

// TestPackingChangesNothing compares all that the store reports of packed rows with what it reports of the same rows in
// the form of earlier versions, of both forms together, and again of packed ones, while processes that pack are killed.
func TestPackingChangesNothing(t *testing.T) {
	t.Parallel()
	everywhere(t, testPackingChangesNothing)
}

func testPackingChangesNothing(t *testing.T, o store.Options) {
	const rows, kills = 4000, 3
	s := open(t, o)
	fillMixed(t, s, rows)
	want := viewOf(t, s)
	if len(want.Verification.Differences) > 0 || len(want.Exported) < rows/2 || len(want.Open) != 5 || want.Older.Attempts == 0 || len(want.Unseen) == 0 {
		t.Fatalf("the packed rows: got %d exported, %d open, %+v, %+v; want all kinds, and no difference", len(want.Exported), len(want.Open), want.Older, want.Verification.Differences)
	}
	check := func(when string) {
		t.Helper()
		got := viewOf(t, s)
		got.Verification.Rollups = want.Verification.Rollups
		if reflect.DeepEqual(got, want) { // a difference of thousands of rows takes seconds
			return
		}
		if diff := gocmp.Diff(got, want); diff != "" {
			t.Fatalf("%s (-got +want):\n%.3000s", when, diff)
		}
	}
	must.Do(t, s.Ledger.UnpackRows(t.Context(), everyRow))
	check("rows of earlier versions")
	must.Do(t, s.Close())
	interrupted := 0
	for range kills {
		packUntilKilled(t, o)
		s = open(t, o)
		if _, old, err := s.Ledger.Rows(t.Context()); err != nil || old > 5 {
			interrupted++
		}
		check("after a kill")
		must.Do(t, s.Close())
	}
	if interrupted == 0 {
		t.Error("no kill came before all rows were packed, want one")
	}
	s = open(t, o)
	must.Get(s.Ledger.PackAttempts(t.Context()))(t)
	if packed, old, err := s.Ledger.Rows(t.Context()); err != nil || old != 5 || packed != int64(len(want.Exported)) {
		t.Errorf("got %d packed rows, %d others, %v; want all packed but the 5 open ones", packed, old, err)
	}
	check("packed again")
	// A row that is lost has to be found.
	tamper(t, o, "DELETE FROM attempt_rows WHERE id = (SELECT id FROM attempt_rows ORDER BY day, id LIMIT 1)")
	if got := viewOf(t, s); gocmp.Equal(got.Exported, want.Exported) || len(got.Verification.Differences) == 0 {
		t.Error("a row was lost: got no difference")
	}
}

// TestReadersFindRowsThatMove packs rows between the statements of a reader outside a transaction.
func TestReadersFindRowsThatMove(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		list := []ledger.Entry{settled(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), 1), settled(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), 2)}
		must.Do(t, s.Ledger.Apply(t.Context(), batchOf(uuid.UUID{1}, 0, list...)))
		for at := range 5 {
			must.Do(t, s.Ledger.UnpackRows(t.Context(), everyRow))
			found, all, err := s.Ledger.FindWhile(t.Context(), list[0].ID, at, func() error {
				_, err := s.Ledger.PackAttempts(t.Context())
				return err
			})
			if err != nil || found != 1 || all != len(list) {
				t.Errorf("moved before statement %d: got %d rows of 1, %d of %d, %v", at, found, all, len(list), err)
			}
		}
	})
}

// TestNumbersAfterDatabaseWentBack has a database lose its last rows and numbers, as with a replica that was behind.
func TestNumbersAfterDatabaseWentBack(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
		first, second := settled(at, 1), settled(at, 2)
		must.Do(t, s.Ledger.Apply(t.Context(), batchOf(uuid.UUID{1}, 0, first)))
		for _, table := range []string{"attempt_rows", "attempt_kinds", "attempt_accounts"} {
			tamper(t, o, "DELETE FROM "+table)
		}
		tamper(t, o, "UPDATE journals SET position = 0")
		must.Do(t, s.Ledger.Apply(t.Context(), batchOf(uuid.UUID{1}, 0, second)))
		got, found, err := s.Reports.Attempt(t.Context(), second.ID)
		if err != nil || !found || got.Account != second.Account || got.FullModel() != second.FullModel() {
			t.Errorf("got %s, %s, %v, %v; want %s, %s", got.Account, got.FullModel(), found, err, second.Account, second.FullModel())
		}
	})
}

// TestRetentionDeletesKinds checks that the kinds of a day go with its last row, unless a writer may remember them.
func TestRetentionDeletesKinds(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, o store.Options) {
		now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
		o.Clock = func() time.Time { return now }
		s := open(t, o)
		kinds := func(want ...int64) {
			t.Helper()
			got := must.Get(store.KindDays(t.Context(), s))(t)
			if !slices.Equal(got, want) {
				t.Errorf("days with kinds: got %v, want %v", got, want)
			}
		}
		journal := uuid.New()
		list := []ledger.Entry{settled(now.AddDate(0, 0, -20), 1), settled(now.AddDate(0, 0, -15), 2), settled(now.AddDate(0, 0, -2), 3)}
		must.Do(t, s.Ledger.Apply(t.Context(), batchOf(journal, 0, list...)))
		kinds(20261101, 20261106, 20261119)
		retain := func(before time.Time) { must.Get(s.Ledger.Retain(t.Context(), before, before, nil))(t) }
		retain(now.AddDate(0, 0, -16))
		kinds(20261106, 20261119)
		retain(now)
		kinds(20261119) // a writer may remember their numbers
		late := settled(now.AddDate(0, 0, -2).Add(time.Minute), 4)
		must.Do(t, s.Ledger.Apply(t.Context(), batchOf(journal, 1, late)))
		now = now.AddDate(0, 0, 9)
		retain(now.AddDate(0, 0, -30))
		kinds(20261119)
		retain(now)
		kinds()
		if v := must.Get(s.Ledger.Verify(t.Context(), nil))(t); len(v.Differences) > 0 || v.Rows != 0 {
			t.Errorf("verify: got %+v, want no rows and no difference", v)
		}
	})
}

// packRows packs rows in the process that is killed. It prints a line for each portion.
func packRows(ctx context.Context, o store.Options) error {
	s, err := store.Open(ctx, o)
	if err != nil {
		return err
	}
	go func() {
		for before := int64(-1); ; time.Sleep(time.Millisecond) {
			if packed, _, err := s.Ledger.Rows(ctx); err == nil && packed != before {
				before = packed
				fmt.Println(packed)
			}
		}
	}()
	_, err = s.Ledger.PackAttempts(ctx)
	return err
}

// packUntilKilled kills a packing process when it has packed a portion.
func packUntilKilled(t *testing.T, o store.Options) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "WEIR_TEST_PACK="+cmp.Or(o.Path, "PostgreSQL"), "WEIR_TEST_URL="+o.URL.Reveal())
	cmd.Stderr = os.Stderr
	out := must.Get(cmd.StdoutPipe())(t)
	must.Do(t, cmd.Start())
	lines := bufio.NewScanner(out)
	for range 2 {
		lines.Scan()
	}
	_ = cmd.Process.Kill() // it may have ended
	_ = cmd.Wait()
}
