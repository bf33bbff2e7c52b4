package store_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/conversation"
	"weir/internal/ledger"
	"weir/internal/must"
	"weir/internal/report"
	"weir/internal/store"
)

// portionRows is the number of rows in a transaction of these moves: each move needs several.
const portionRows = 500

// movable fills an installation with rows in most tables and the given number of attempts.
func movable(t *testing.T, o store.Options, attempts int) (journal uuid.UUID) {
	t.Helper()
	s, err := store.Open(t.Context(), o)
	must.Do(t, err)
	defer s.Close()
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	journal = uuid.New()
	var list []ledger.Entry
	for i := range attempts {
		e := settled(at.AddDate(0, 0, -(i%3)), i)
		e.Model = []string{"m", "é", "Z", "a/b"}[i%4]
		list = append(list, e)
	}
	lost := settled(at, attempts)
	lost.Outcome, lost.Provenance, lost.Hold = ledger.OutcomeUnknown, ledger.Unknown, lost.Cost
	b := batchOf(journal, 0, append(list, lost)...)
	open := settled(at, attempts+1)
	b.Opened = []ledger.Attempt{open.Attempt}
	a := account.Account{ID: "acc_a", Name: "a", Created: at, ContentPercent: 30}
	k := account.Key{ID: "key_1", AccountID: a.ID, Label: "über", Created: at, Expires: new(at.AddDate(9, 0, 0)), NoContent: true}
	for what, err := range map[string]error{
		"apply":   s.Ledger.Apply(t.Context(), b),
		"resolve": s.Corrections.Resolve(t.Context(), audit.Gateway(), lost.ID, 7, false),
		"account": s.Accounts.CreateAccount(t.Context(), audit.Gateway(), a),
		"key":     s.Accounts.CreateKey(t.Context(), audit.Gateway(), k, account.Hash{1}),
		"keep": s.Kept.KeepResponse(t.Context(), &conversation.Record{
			Scope: k.ID, ID: "r", Items: []string{"x"}, Created: at, Expires: at.AddDate(9, 0, 0), Sealed: []byte{0, 255, 7},
		}),
	} {
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	return journal
}

// told holds a database's description of an installation.
type told struct {
	Accounts []account.Account
	Keys     []account.Key
	Uses     report.UsesPage
	Export   []report.Exported
	Open     []ledger.Attempt
	Position ledger.Position
	Changes  account.Changes
	Response string
	Audit    []audit.Entry
	Chain    audit.Verification
	Verified report.Verification
}

func ask(t *testing.T, o store.Options, journal uuid.UUID) (w told) {
	t.Helper()
	s := open(t, o)
	check := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	var err error
	ctx := t.Context()
	w.Accounts, err = s.Accounts.List(ctx, "")
	check(err)
	w.Keys, err = s.Accounts.Keys(ctx, "acc_a")
	check(err)
	w.Uses, err = s.Reports.Uses(ctx, report.UsesQuery{Account: "a", Limit: 1000})
	check(err)
	check(s.Reports.Export(ctx, report.ExportQuery{}, func(e *report.Exported) error {
		w.Export = append(w.Export, *e)
		return nil
	}))
	w.Open, err = s.Ledger.OpenAttempts(ctx, journal)
	check(err)
	w.Position, err = s.Ledger.Position(ctx, journal)
	check(err)
	w.Changes, err = s.Accounts.Changes(ctx, 0)
	check(err)
	sealed, err := s.Kept.Response(ctx, "r")
	check(err)
	w.Response = string(sealed)
	w.Audit, err = s.Audit.Entries(ctx, audit.Query{Limit: 1000})
	check(err)
	w.Chain, err = s.Audit.Verify(ctx, audit.Hash{})
	check(err)
	w.Verified, err = s.Ledger.Verify(ctx, nil)
	check(err)
	return w
}

func TestMoveToPostgreSQL(t *testing.T) {
	t.Parallel()
	from, to := engines()["SQLite"](t), withoutSchema()["PostgreSQL"](t)
	journal := movable(t, from, 1_200)
	last := int64(0)
	moved, err := store.Move(t.Context(), store.MoveOptions{Rows: portionRows, From: from, To: to, ID: "i", Progress: func(done, total int64) {
		if done <= last || done > total {
			t.Errorf("progress: got %d of %d after %d", done, total, last)
		}
		last = done
	}})
	if err != nil || moved.Rows != last || moved.Kept != 0 {
		t.Fatalf("move: got %+v, %v; the progress ended at %d", moved, err, last)
	}
	want, got := ask(t, from, journal), ask(t, to, journal)
	if diff := cmp.Diff(got, want); diff != "" || len(got.Verified.Differences) > 0 || got.Verified.Rows != 1_202 {
		t.Errorf("the copy differs, or does not add up: %+v (-got +want)\n%s", got.Verified, diff)
	}
	if len(got.Audit) != 3 || !got.Chain.Whole() {
		t.Errorf("the audit log: got %d entries, %+v; want 3 of a whole chain", len(got.Audit), got.Chain)
	}
	// It works on: new ids of the database differ from the copied ones.
	s := open(t, to)
	if err := s.Ledger.Apply(t.Context(), batchOf(uuid.New(), 0, settled(time.Now(), -1))); err != nil {
		t.Errorf("a new journal: %v", err)
	}
	if err := s.Ledger.Apply(t.Context(), batchOf(journal, want.Position, settled(time.Now(), -2))); err != nil {
		t.Errorf("the old journal: %v", err)
	}
	if _, err := s.Accounts.RevokeKey(t.Context(), audit.Gateway(), "key_1", time.Now()); err != nil {
		t.Errorf("revoke: %v", err)
	}
	if v, err := s.Audit.Verify(t.Context(), want.Chain.Head); err != nil || !v.Whole() || v.Entries != 4 {
		t.Errorf("the audit log after the move: got %+v, %v; want an unbroken chain", v, err)
	}
	if c, err := s.Accounts.Changes(t.Context(), want.Changes.Last); err != nil || c.Lost || len(c.List) != 1 {
		t.Errorf("the feed after the move: got %+v, %v; want one change more", c, err)
	}
	if _, err := store.Move(t.Context(), store.MoveOptions{Rows: portionRows, From: from, To: to, ID: "i"}); !errors.Is(err, store.ErrNotEmpty) {
		t.Errorf("move again: got %v, want ErrNotEmpty", err)
	}
}

// TestMoveIsTakenUp kills the process that moves, over and over.
func TestMoveIsTakenUp(t *testing.T) {
	t.Parallel()
	from, to := engines()["SQLite"](t), withoutSchema()["PostgreSQL"](t)
	journal := movable(t, from, 2_500)
	for kill := range 3 {
		moveUntilKilled(t, from, to, 2+kill)
		if _, err := store.Open(t.Context(), to); err == nil || !strings.Contains(err.Error(), "weir move") {
			t.Errorf("open a half copy: got %v, want an error with the remedy", err)
		}
		stranger := filepath.Join(t.TempDir(), "weir.db")
		open(t, store.Options{Path: stranger})
		_, err := moveAlone(t, store.MoveOptions{Rows: portionRows, From: store.Options{Path: stranger}, To: to, ID: "another"})
		if !errors.Is(err, store.ErrNotEmpty) {
			t.Errorf("another installation: got %v, want ErrNotEmpty", err)
		}
	}
	moved, err := moveAlone(t, store.MoveOptions{Rows: portionRows, From: from, To: to, ID: "i"})
	if err != nil {
		t.Fatalf("the last move: %v", err)
	}
	if moved.Kept == 0 || moved.Kept >= moved.Rows {
		t.Errorf("got %+v, want some rows of the killed moves", moved)
	}
	must.Equal(t, ask(t, to, journal), ask(t, from, journal), "the copy differs")
}

// moveAlone moves as soon as the server knows that an earlier, killed move has ended.
func moveAlone(t *testing.T, o store.MoveOptions) (store.Moved, error) {
	t.Helper()
	for until := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		moved, err := store.Move(t.Context(), o)
		if !errors.Is(err, store.ErrMoving) || time.Now().After(until) {
			return moved, err
		}
	}
}

// TestMoveBeginsAgain uses the installation after a move was interrupted.
func TestMoveBeginsAgain(t *testing.T) {
	t.Parallel()
	from, to := engines()["SQLite"](t), withoutSchema()["PostgreSQL"](t)
	journal := movable(t, from, 900)
	ctx, stop := context.WithCancel(t.Context())
	_, err := store.Move(ctx, store.MoveOptions{Rows: portionRows, From: from, To: to, ID: "i", Progress: func(int64, int64) { stop() }})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("an interrupted move: got %v, want Canceled", err)
	}
	s := open(t, from)
	must.Do(t, s.Ledger.Apply(t.Context(), batchOf(journal, 1, settled(time.Now(), -1))))
	moved, err := moveAlone(t, store.MoveOptions{Rows: portionRows, From: from, To: to, ID: "i"})
	if err != nil || moved.Kept != 0 {
		t.Fatalf("move: got %+v, %v; want no earlier rows", moved, err)
	}
	must.Equal(t, ask(t, to, journal), ask(t, from, journal), "the copy differs")
}

// TestMoveFindsChangedCopy changes the copy during the move, and writes to SQLite at the same time.
func TestMoveFindsChangedCopy(t *testing.T) {
	t.Parallel()
	from, to := engines()["SQLite"](t), withoutSchema()["PostgreSQL"](t)
	movable(t, from, 900)
	beside := open(t, from)
	sabotaged := false
	_, err := store.Move(t.Context(), store.MoveOptions{Rows: portionRows, From: from, To: to, ID: "i", Progress: func(done, _ int64) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if !sabotaged {
			if err := beside.Accounts.CreateAccount(ctx, audit.Gateway(), account.Account{ID: "late", Name: "late"}); err == nil {
				t.Error("an account was created during the move, which will not copy it")
			}
		}
		if done > portionRows && !sabotaged {
			sabotaged = true
			tamper(t, to, "UPDATE attempt_rows SET kind = kind + 1 WHERE id = (SELECT id FROM attempt_rows ORDER BY id LIMIT 1)")
		}
	}})
	if err == nil || !strings.Contains(err.Error(), "attempt_rows: the copy differs: the sum of kind") {
		t.Errorf("move with a changed copy: got %v, want an error with the place", err)
	}
}

func moveUntilKilled(t *testing.T, from, to store.Options, portions int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "WEIR_TEST_MOVE="+from.Path, "WEIR_TEST_URL="+to.URL.Reveal())
	cmd.Stderr = os.Stderr
	out := must.Get(cmd.StdoutPipe())(t)
	must.Do(t, cmd.Start())
	lines, n := bufio.NewScanner(out), 0
	for n < portions && lines.Scan() {
		n++
	}
	_ = cmd.Process.Kill() // it may be over
	_ = cmd.Wait()
	if n < portions {
		t.Fatalf("the child moved %d portions, want %d before it is killed", n, portions)
	}
}

// moveSlowly runs in the process that moveUntilKilled kills.
func moveSlowly(ctx context.Context, from, to store.Options) error {
	tell := func(done, total int64) {
		fmt.Println(done, total)
		time.Sleep(20 * time.Millisecond)
	}
	for {
		_, err := store.Move(ctx, store.MoveOptions{Rows: portionRows, From: from, To: to, ID: "i", Progress: tell})
		if !errors.Is(err, store.ErrMoving) {
			return err
		}
		time.Sleep(20 * time.Millisecond) // the one before is dead, the server has not noticed
	}
}
