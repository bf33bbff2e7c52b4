package store_test

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/store"
	"weir/internal/store/pgtest"
)

// TestPoolerOfTransactions checks that a start behind a pooler that pools transactions is refused with its name, before
// it takes a lock that would stay on the server's connection.
func TestPoolerOfTransactions(t *testing.T) {
	t.Parallel()
	server := pgtest.New(t)
	database := serverDatabase(t, server)
	for _, mode := range []string{"transaction", "statement"} {
		for _, settings := range []string{"", "&default_query_exec_mode=exec", "&default_query_exec_mode=simple_protocol"} {
			url := pgtest.NewPooler(t, server, database, mode, 20)
			_, err := store.Open(t.Context(), at(url+settings))
			if err == nil || !strings.Contains(err.Error(), "pool_mode = session") {
				t.Errorf("%s, %q: got %v, want a refusal with the remedy", mode, settings, err)
			}
		}
	}
	locks := must.Get(server.Query(t.Context(), database, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"))(t)
	if locks[0][0] != "0" {
		t.Errorf("%s advisory locks stayed", locks[0][0])
	}
}

// TestPoolerOfSessions checks that a node works behind a pooler that pools sessions, and that its error says so if all
// connections of the pool are in use.
func TestPoolerOfSessions(t *testing.T) {
	t.Parallel()
	server := pgtest.New(t)
	database := serverDatabase(t, server)
	url := pgtest.NewPooler(t, server, database, "session", 9)
	s := open(t, at(url+"&pool_max_conns=7&connect_timeout=1"))
	p := &projector{store: s}
	p.until(t, 10, patience)
	if got := s.Shortage(); got != "" {
		t.Errorf("a pool with room: got the shortage %q, want none", got)
	}
	var rest []*pgx.Conn
	for range 9 { // more wait in the pooler's queue
		ctx, cancel := context.WithTimeout(t.Context(), batchTime)
		conn, err := pgx.Connect(ctx, url)
		if err == nil {
			_, err = conn.Exec(ctx, "SELECT 1", pgx.QueryExecModeSimpleProtocol)
		}
		cancel()
		if err != nil {
			break
		}
		rest = append(rest, conn)
		defer func() { _ = conn.Close(context.Background()) }()
	}
	_, err := store.Open(t.Context(), at(url+"&connect_timeout=1"))
	if err == nil || !strings.Contains(err.Error(), "default_pool_size") {
		t.Errorf("all %d others in use: got %v, want an error with the setting to raise", len(rest), err)
	}
}

// TestPoolSizes shares the connections of a node out to its pools.
func TestPoolSizes(t *testing.T) {
	t.Parallel()
	for size, problem := range map[string]string{"7": "", "9": "", "13": "", "100": "", "6": "from 7 on", "many": "from 7 on", "": "from 7 on"} {
		_, err := store.Open(t.Context(), store.Options{URL: llm.NewSecret("postgres://weir@127.0.0.1:1/weir?sslmode=disable&pool_max_conns=" + size)})
		if problem == "" {
			problem = "connect"
		}
		if err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%q: got %v, want an error with %q", size, err, problem)
		}
	}
}
