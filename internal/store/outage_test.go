package store_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/idempotency"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/report"
	"weir/internal/store"
	"weir/internal/store/pgtest"
)

// batchTime bounds a batch, also while the server does not answer; patience bounds every wait.
const batchTime, patience = 2 * time.Second, time.Minute

// serverDatabase creates a database on the test's own server.
func serverDatabase(t *testing.T, s *pgtest.Server) string {
	t.Helper()
	must.Do(t, s.Exec(t.Context(), "postgres", "CREATE DATABASE weir"))
	return "weir"
}

func at(url string) store.Options { return store.Options{URL: llm.NewSecret(url)} }

// projector applies a tape of batches of one attempt, like the ledger's: after an error it reads its position from the
// database.
type projector struct {
	store    *store.DB
	journal  uuid.UUID
	pos      ledger.Position
	failures int
}

func (p *projector) step(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, batchTime)
	defer cancel()
	err := p.store.Ledger.Apply(ctx, batchOf(p.journal, p.pos, settled(time.Unix(1_800_000_000, 0), int(p.pos))))
	if err == nil {
		p.pos++
		return nil
	}
	p.failures++
	pos, perr := p.store.Ledger.Position(ctx, p.journal)
	if perr != nil {
		return errors.Join(err, perr)
	}
	p.pos = pos
	return err
}

// until steps until the tape is applied up to pos.
func (p *projector) until(t *testing.T, pos ledger.Position, limit time.Duration) {
	t.Helper()
	end := time.Now().Add(limit)
	for p.pos < pos {
		if err := p.step(t.Context()); err != nil {
			if time.Now().After(end) {
				t.Fatalf("at %d of %d after %s: %v", p.pos, pos, limit, err)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
}

// exactly fails the test unless every attempt of the tape is there once.
func (p *projector) exactly(t *testing.T, s *store.DB) {
	t.Helper()
	v, err := s.Ledger.Verify(t.Context(), nil)
	if err != nil || len(v.Differences) > 0 || v.Rows != int64(p.pos) {
		t.Errorf("verify: got %d rows, %+v, %v; want %d and no difference", v.Rows, v.Differences, err, p.pos)
	}
	page, err := s.Reports.Uses(t.Context(), report.UsesQuery{Account: "a", Limit: 10})
	if err != nil || page.Total.Requests != int64(p.pos) {
		t.Errorf("uses: got %+v, %v; want %d requests", page.Total, err, p.pos)
	}
}

// TestCutCommits cuts connections while they commit, 60 times: before the server receives the commit, during it, and
// before the client receives the answer.
func TestCutCommits(t *testing.T) {
	t.Parallel()
	server := pgtest.New(t)
	name := serverDatabase(t, server)
	proxy := pgtest.NewProxy(t, server.Addr())
	s := open(t, at(proxy.URL(name)))
	p := &projector{store: s, journal: uuid.New()}
	for round := range 60 {
		proxy.CutCommits([]pgtest.Cut{pgtest.CutBefore, pgtest.CutAtCommit, pgtest.CutAnswer}[round%3], 1)
		p.until(t, p.pos+2, 20*time.Second)
	}
	proxy.CutCommits(pgtest.CutNever, 0)
	if proxy.Cuts() != 60 || p.failures < 60 {
		t.Errorf("got %d cuts and %d failures, want 60", proxy.Cuts(), p.failures)
	}
	p.exactly(t, open(t, at(server.URL(name))))
}

// TestCutIdempotent cuts connections while the begin of an idempotent request is committed, and its end: the record is
// still created, by one request, and the reply is stored or the record released.
func TestCutIdempotent(t *testing.T) {
	t.Parallel()
	server := pgtest.New(t)
	name := serverDatabase(t, server)
	proxy := pgtest.NewProxy(t, server.Addr())
	s := open(t, at(proxy.URL(name)))
	begin := func(c store.IdempotencyRecord) (idempotency.State, []byte) {
		t.Helper()
		state, reply, err := s.Kept.IdempotencyBegin(t.Context(), c, time.Hour)
		if err != nil {
			t.Fatalf("begin %s: %v", c.Key, err)
		}
		return state, reply
	}
	for i, cut := range []pgtest.Cut{pgtest.CutBefore, pgtest.CutAtCommit, pgtest.CutAnswer} {
		for what, end := range map[string]struct {
			do    func(store.IdempotencyRecord) error
			want  idempotency.State
			reply string
		}{
			"kept": {func(c store.IdempotencyRecord) error {
				return s.Kept.IdempotencyFinish(t.Context(), c, []byte("reply"))
			}, idempotency.Done, "reply"},
			"streamed": {func(c store.IdempotencyRecord) error { return s.Kept.IdempotencyFinish(t.Context(), c, nil) }, idempotency.Spent, ""},
			"given up": {func(c store.IdempotencyRecord) error { return s.Kept.IdempotencyForget(t.Context(), c) }, idempotency.New, ""},
		} {
			c := store.IdempotencyRecord{Record: idempotency.Record{Scope: "k", Key: fmt.Sprint(what, i), Body: "b", Request: fmt.Sprint(what, i, "first")}, Node: "n", Epoch: "e"}
			proxy.CutCommits(cut, 1)
			if state, _ := begin(c); state != idempotency.New {
				t.Errorf("%s, cut %d: the first got %s", what, cut, state)
			}
			second := c
			second.Request = fmt.Sprint(what, i, "second")
			proxy.CutCommits(cut, 1)
			if state, _ := begin(second); state != idempotency.Running {
				t.Errorf("%s, cut %d: the second got %s", what, cut, state)
			}
			proxy.CutCommits(cut, 1)
			if err := end.do(c); err != nil {
				t.Errorf("%s, cut %d: %v", what, cut, err)
			}
			proxy.CutCommits(pgtest.CutNever, 0)
			if state, reply := begin(second); state != end.want || string(reply) != end.reply {
				t.Errorf("%s, cut %d: then got %s with %q, want %s with %q", what, cut, state, reply, end.want, end.reply)
			}
		}
	}
	if proxy.Cuts() != 27 {
		t.Errorf("got %d cuts, want 27", proxy.Cuts())
	}
}

// TestServerKilled kills the server under a projector, and brings it back.
func TestServerKilled(t *testing.T) {
	t.Parallel()
	server := pgtest.New(t)
	s := open(t, at(server.URL(serverDatabase(t, server))))
	p := &projector{store: s, journal: uuid.New()}
	for _, end := range []func() error{server.Kill, server.Down, server.Kill} {
		p.until(t, p.pos+50, patience)
		must.Do(t, s.Ledger.Durable(t.Context()))
		durable := p.pos
		must.Do(t, end())
		err := p.step(t.Context())
		for end := time.Now().Add(patience); err == nil && time.Now().Before(end); { // the processes that a killed server leaves behind end a moment later
			err = p.step(t.Context())
		}
		if err == nil {
			t.Error("a batch while the server is away: got no error, want one")
		}
		must.Do(t, server.Up())
		if pos, err := s.Ledger.Position(t.Context(), p.journal); err != nil || pos < durable {
			t.Errorf("position after a kill: got %d, %v; want at least %d, which was durable", pos, err, durable)
		}
		p.until(t, p.pos+50, 5*time.Second)
	}
	p.exactly(t, s)
}

// TestServerRestarted restarts the server while the store is idle. The store then works at once.
func TestServerRestarted(t *testing.T) {
	t.Parallel()
	server := pgtest.New(t)
	s := open(t, at(server.URL(serverDatabase(t, server))))
	p := &projector{store: s, journal: uuid.New()}
	p.until(t, 10, patience)
	for range 3 {
		must.Do(t, errors.Join(server.Down(), server.Up()))
		if err := p.step(t.Context()); err != nil {
			t.Errorf("the first batch after a restart: %v", err)
		}
		if _, err := s.Ledger.Position(t.Context(), p.journal); err != nil {
			t.Errorf("the first query after a restart: %v", err)
		}
		if err := s.Ledger.Durable(t.Context()); err != nil {
			t.Errorf("the first lasting commit after a restart: %v", err)
		}
	}
	p.exactly(t, s)
}

// TestServerFrozen stops the server's processes: every call ends with its context, and works again when the server
// does.
func TestServerFrozen(t *testing.T) {
	t.Parallel()
	server := pgtest.New(t)
	s := open(t, at(server.URL(serverDatabase(t, server))))
	p := &projector{store: s, journal: uuid.New()}
	p.until(t, 10, patience)
	if err := server.Freeze(); errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrNotExist) { // no /proc
		t.Skipf("processes cannot be frozen here: %v", err)
	} else if err != nil {
		t.Fatalf("freeze the server: %v", err)
	}
	for name, call := range map[string]func(context.Context) error{
		"Position": func(ctx context.Context) error { _, err := s.Ledger.Position(ctx, p.journal); return err },
		"Apply": func(ctx context.Context) error {
			return s.Ledger.Apply(ctx, batchOf(p.journal, p.pos, settled(time.Now(), 99)))
		},
		"Durable": s.Ledger.Durable,
		"Uses": func(ctx context.Context) error {
			_, err := s.Reports.Uses(ctx, report.UsesQuery{Account: "a", Limit: 1})
			return err
		},
		"CreateAccount": func(ctx context.Context) error {
			return s.Accounts.CreateAccount(ctx, audit.Gateway(), account.Account{ID: "x", Name: "x"})
		},
		"Verify":  func(ctx context.Context) error { _, err := s.Ledger.Verify(ctx, nil); return err },
		"Changes": func(ctx context.Context) error { _, err := s.Accounts.Changes(ctx, 0); return err },
	} {
		for range 2 { // on a connection that is there, and on a new one
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			err := call(ctx)
			cancel()
			if err == nil {
				t.Errorf("%s on a frozen server: got no error, want one at its deadline", name)
			}
		}
	}
	must.Do(t, server.Thaw())
	p.until(t, p.pos+10, patience)
	p.exactly(t, s)
}

// TestFailoverToStandby kills the primary and promotes its standby.
func TestFailoverToStandby(t *testing.T) {
	t.Parallel()
	primary := pgtest.New(t)
	name := serverDatabase(t, primary)
	standby := must.Get(primary.Standby())(t)
	t.Cleanup(func() { standby.Close() })
	both := strings.Replace(primary.URL(name), primary.Addr(), standby.Addr()+","+primary.Addr(), 1)
	s := open(t, at(both)) // finds the primary, though it is named last
	p := &projector{store: s, journal: uuid.New()}
	p.until(t, 100, patience)
	if _, err := store.Open(t.Context(), at(standby.URL(name))); err == nil {
		t.Error("open a standby: got no error, want one")
	}
	must.Do(t, primary.Kill())
	must.Do(t, standby.Promote(t.Context()))
	began := time.Now()
	p.until(t, 200, patience)
	t.Logf("the standby is used %s after it was promoted", time.Since(began))
	p.exactly(t, s)
}

// TestReadOnly has a server refuse writes on open connections, as a demoted primary does, and later accept them again.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	server := pgtest.New(t)
	s := open(t, at(server.URL(serverDatabase(t, server))))
	p := &projector{store: s, journal: uuid.New()}
	p.until(t, 10, patience)
	readOnly := func(value string) {
		t.Helper()
		for _, statement := range []string{"ALTER SYSTEM SET default_transaction_read_only = " + value, "SELECT pg_reload_conf()"} {
			must.Do(t, server.Exec(t.Context(), "postgres", statement))
		}
	}
	readOnly("on")
	for end := time.Now().Add(10 * time.Second); p.step(t.Context()) == nil; {
		if time.Now().After(end) {
			t.Fatal("a server that is read-only takes batches")
		}
	}
	if err := s.Accounts.CreateAccount(t.Context(), audit.Gateway(), account.Account{ID: "x", Name: "x"}); err == nil {
		t.Error("create an account on a server that is read-only: got no error, want one")
	}
	readOnly("off")
	p.until(t, p.pos+10, patience)
	if err := s.Accounts.CreateAccount(t.Context(), audit.Gateway(), account.Account{ID: "x", Name: "x"}); err != nil {
		t.Errorf("create an account: %v", err)
	}
	p.exactly(t, s)
}
