// Package pgtest runs PostgreSQL for tests: real servers that listen on loopback, have a temporary directory and end
// with the test. They can be stopped, killed, frozen and followed by a standby.
package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"weir/internal/clocktest"
)

const (
	user       = "weir"
	startLimit = 60 * time.Second
	stopLimit  = 30 * time.Second
	poll       = 20 * time.Millisecond
)

// ErrAbsent means that PostgreSQL's programs are not on this machine.
var ErrAbsent = errors.New("PostgreSQL's programs are not installed (Debian: postgresql)")

// Server is one PostgreSQL server. Its methods are for one goroutine at a time.
type Server struct {
	bin, dir string
	clock    []string // variables that shift its clock
	port     int
	cmd      *exec.Cmd
	gone     chan struct{} // closed when the process has ended
	stopped  []int         // processes stopped by Freeze
}

// Start makes an empty server in a directory of its own and starts it.
func Start() (*Server, error) {
	s, err := newServer()
	if err != nil {
		return nil, err
	}
	if err = s.initialise(); err == nil {
		err = s.Up()
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func newServer() (*Server, error) {
	bin, err := programs()
	if err != nil {
		return nil, err
	}
	clock, err := clocktest.Environment()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(directory(), "weir-postgres-")
	if err != nil {
		return nil, err
	}
	s := &Server{bin: bin, dir: dir, clock: clock}
	if err = giveAway(dir); err == nil {
		s.port, err = freePort()
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

// programs returns the directory of the server's programs: those in the PATH, or the newest that Debian has
// installed.
func programs() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			return filepath.Dir(path), nil
		}
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // the pattern is valid
	if len(found) == 0 {
		return "", ErrAbsent
	}
	newest := slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) })
	return filepath.Dir(newest), nil
}

func version(path string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path)))) // 0 if it is not a number
	return n
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err := errors.Join(err, l.Close()); err != nil {
		return 0, err
	}
	return strconv.Atoi(port)
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// Addr returns the address where the server listens, HOST:PORT.
func (s *Server) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// URL returns the URL of a database of the server.
func (s *Server) URL(database string) string {
	url := s.plainURL(database)
	if s.clock != nil {
		// A signal that interrupts libfaketime reads the true time. If that is ahead of the shifted one, any alarm
		// would end all timeouts.
		url += "&statement_timeout=0&lock_timeout=0&idle_in_transaction_session_timeout=0"
	}
	return url
}

// plainURL returns a URL without parameters that PostgreSQL's own programs refuse.
func (s *Server) plainURL(database string) string {
	return fmt.Sprintf("postgres://%s@%s/%s?sslmode=disable", user, s.Addr(), database)
}

// run runs one of PostgreSQL's programs until it ends.
func (s *Server) run(program string, args ...string) error {
	cmd := s.command(program, args...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", program, err, out)
	}
	return nil
}

// command returns the command of one of PostgreSQL's programs, as a user that it accepts.
func (s *Server) command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, program), args...)
	cmd.Dir = s.dir
	cmd.Env = append(append(os.Environ(), "LC_ALL=C.UTF-8", "PGCONNECT_TIMEOUT=10"), s.clock...)
	cmd.SysProcAttr = attributes()
	return cmd
}

// Up starts the server, also after Down and Kill, and waits until it answers.
func (s *Server) Up() error {
	for limit := time.Now().Add(startLimit); ; {
		if err := s.launch(); err != nil {
			return err
		}
		err := s.await(limit)
		if err == nil || time.Now().After(limit) {
			return err
		}
		time.Sleep(10 * poll) // the processes of a killed server may still be running
	}
}

func (s *Server) launch() error {
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the server has its own descriptor
	// Nothing is synced, and what is read again after a kill was written by a system that lives on: no page is torn.
	// Each new database is a checkpoint, after which every changed page would be logged in full. Nothing lives long
	// enough for autovacuum.
	args := []string{
		"-D", s.data(), "-p", strconv.Itoa(s.port), "-h", "127.0.0.1", "-k", s.dir, "-F", "-c", "max_connections=300",
		"-c", "shared_buffers=64MB", "-c", "log_min_messages=fatal", "-c", "max_wal_size=4GB",
		"-c", "full_page_writes=off", "-c", "autovacuum=off",
	}
	if s.clock != nil {
		args = append(args, "-c", "deadlock_timeout=10s") // see URL
	}
	s.cmd = s.command("postgres", args...)
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if err := s.cmd.Start(); err != nil {
		return err
	}
	gone, cmd := make(chan struct{}), s.cmd
	s.gone = gone
	go func() {
		_ = cmd.Wait() // its exit status does not matter
		close(gone)
	}()
	return nil
}

// await waits until the server answers or has ended.
func (s *Server) await(limit time.Time) error {
	for {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		err := s.Exec(ctx, "postgres", "SELECT 1")
		cancel()
		if err == nil {
			return nil
		}
		select {
		case <-s.gone:
			text, _ := os.ReadFile(filepath.Join(s.dir, "log")) // it is part of the error
			return fmt.Errorf("PostgreSQL has ended: %s", text[max(0, len(text)-2000):])
		case <-time.After(poll):
		}
		if time.Now().After(limit) {
			return fmt.Errorf("PostgreSQL does not answer: %w", err)
		}
	}
}

// Exec runs a statement in one of the server's databases.
func (s *Server) Exec(ctx context.Context, database, statement string) error {
	return execute(ctx, s.URL(database), statement)
}

// Query runs statements in one of the server's databases and returns the rows of the last one, each value as text;
// NULL is empty.
func (s *Server) Query(ctx context.Context, database, statements string) (rows [][]string, err error) {
	conn, err := pgx.Connect(ctx, s.URL(database))
	if err != nil {
		return nil, err
	}
	results, err := conn.PgConn().Exec(ctx, statements).ReadAll()
	if err := errors.Join(err, conn.Close(ctx)); err != nil || len(results) == 0 {
		return nil, err
	}
	for _, row := range results[len(results)-1].Rows {
		texts := make([]string, len(row))
		for i, value := range row {
			texts[i] = string(value)
		}
		rows = append(rows, texts)
	}
	return rows, nil
}

func execute(ctx context.Context, url, statement string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, statement)
	return errors.Join(err, conn.Close(ctx))
}

// Down stops the server as an administrator does: connections are cut.
func (s *Server) Down() error { return s.end(syscall.SIGINT) }

// Kill ends the server with SIGKILL.
func (s *Server) Kill() error { return s.end(syscall.SIGKILL) }

func (s *Server) end(signal syscall.Signal) error {
	if s.cmd == nil || s.cmd.Process == nil {
		return nil
	}
	err := errors.Join(s.Thaw(), s.cmd.Process.Signal(signal))
	select {
	case <-s.gone:
		s.cmd = nil
		return nil
	case <-time.After(stopLimit):
		return errors.Join(err, fmt.Errorf("PostgreSQL does not end"), s.cmd.Process.Kill())
	}
}

// Close ends the server and removes its directory.
func (s *Server) Close() error {
	return errors.Join(s.end(syscall.SIGQUIT), os.RemoveAll(s.dir))
}
