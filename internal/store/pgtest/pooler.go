package pgtest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"weir/internal/must"
)

// NewPooler starts a PgBouncer in front of a server until the test ends, with that pool_mode ("session",
// "transaction") and default_pool_size, and returns the URL of a database through it. If PgBouncer is not installed,
// it skips the test, or fails it if WEIR_TEST_REQUIRE is "all".
func NewPooler(t testing.TB, s *Server, database, mode string, size int) string {
	t.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		program, err = exec.LookPath("/usr/sbin/pgbouncer") // Debian does not put it in the PATH of users
	}
	if err != nil && os.Getenv("WEIR_TEST_REQUIRE") == "all" {
		t.Fatal("pgbouncer is not installed, and WEIR_TEST_REQUIRE is all")
	}
	if err != nil {
		t.Skip("pgbouncer is not installed (Debian: pgbouncer)")
	}
	port := must.Get(freePort())(t)
	config := fmt.Sprintf(`[databases]
* = host=127.0.0.1 port=%d user=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
pool_mode = %s
default_pool_size = %d
ignore_startup_parameters = extra_float_digits
`, s.port, user, port, mode, size)
	file := filepath.Join(s.dir, fmt.Sprintf("pgbouncer-%d.ini", port))
	must.Do(t, os.WriteFile(file, []byte(config), 0o644))
	cmd := exec.Command(program, file)
	cmd.Dir, cmd.SysProcAttr = s.dir, attributes()
	log := must.Get(os.Create(file + ".log"))(t)
	cmd.Stdout, cmd.Stderr = log, log
	must.Do(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // its exit status does not matter
		_ = log.Close()
	})
	addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	for limit := time.Now().Add(startLimit); ; time.Sleep(poll) {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			_ = conn.Close()
			return fmt.Sprintf("postgres://%s@%s/%s?sslmode=disable", user, addr, database)
		}
		if time.Now().After(limit) {
			text, _ := os.ReadFile(file + ".log")
			t.Fatalf("pgbouncer does not listen: %v\n%s", err, text)
		}
	}
}
