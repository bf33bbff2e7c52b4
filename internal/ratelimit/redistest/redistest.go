// Package redistest runs a real redis-server for tests, on a loopback port, and breaks it.
package redistest

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"weir/internal/clocktest"
	"weir/internal/llm"
	"weir/internal/must"
)

// patience is how long a server may take to start or to answer.
const patience = 20 * time.Second

// Server is a redis-server that ends with its test.
type Server struct {
	t    testing.TB
	path string
	addr string
	cmd  *exec.Cmd
}

// Start starts a server. If redis-server is not installed, it skips the test, or fails it if WEIR_TEST_REQUIRE is
// "all".
func Start(t testing.TB) *Server {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		if os.Getenv("WEIR_TEST_REQUIRE") == "all" {
			t.Fatal("redis-server is not there, and WEIR_TEST_REQUIRE is all")
		}
		t.Skip("redis-server is not there")
	}
	l := must.Get((&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	s := &Server{t: t, path: path, addr: l.Addr().String()}
	must.Do(t, l.Close())
	s.Run()
	t.Cleanup(s.Kill)
	return s
}

// Addr returns the address where it listens.
func (s *Server) Addr() string { return s.addr }

// URL returns the address where it listens, for the configuration.
func (s *Server) URL() llm.Secret { return llm.NewSecret("redis://" + s.addr) }

// Run starts the server without data, and returns when it answers.
func (s *Server) Run() {
	s.t.Helper()
	_, port, err := net.SplitHostPort(s.addr)
	must.Do(s.t, err)
	s.cmd = exec.CommandContext(context.WithoutCancel(s.t.Context()), s.path, "--bind", "127.0.0.1", "--port", port,
		"--save", "", "--appendonly", "no", "--dir", s.t.TempDir(), "--loglevel", "warning")
	clock, err := clocktest.Environment()
	must.Do(s.t, err)
	s.cmd.Env = append(os.Environ(), clock...)
	if err := s.cmd.Start(); err != nil {
		s.t.Fatalf("start redis-server: %v", err)
	}
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		answer, err := s.ask("PING")
		if err == nil && answer == "+PONG" {
			return
		}
		if time.Now().After(end) {
			s.t.Fatalf("redis-server does not answer: %q, %v", answer, err)
		}
	}
}

// Kill ends the server, which loses its data.
func (s *Server) Kill() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill() // it may have ended
	_ = s.cmd.Wait()
	s.cmd = nil
}

// Freeze stops the process: its connections stay open, without answers.
func (s *Server) Freeze() { s.signal(syscall.SIGSTOP) }

// Thaw ends Freeze.
func (s *Server) Thaw() { s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig os.Signal) {
	s.t.Helper()
	must.Do(s.t, s.cmd.Process.Signal(sig))
}

// Do sends a command and returns the answer. It fails the test if the answer is an error.
func (s *Server) Do(command string) string {
	s.t.Helper()
	answer, err := s.ask(command)
	if err != nil || strings.HasPrefix(answer, "-") {
		s.t.Fatalf("%s: %s, %v", command, answer, err)
	}
	return answer
}

// ask sends an inline command and reads the first line of the answer
// (https://redis.io/docs/latest/develop/reference/protocol-spec/#inline-commands).
func (s *Server) ask(command string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.addr)
	if err != nil {
		return "", err
	}
	defer conn.Close() //nolint:errcheck // the answer is read by then
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return "", err
	}
	if _, err := fmt.Fprintf(conn, "%s\r\n", command); err != nil {
		return "", err
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	return strings.TrimSpace(line), err
}
