package systemd

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// tellTimeout is how long the service manager may take to accept a message.
const tellTimeout = time.Second

// Manager is the service manager of this process, if it wants to be told. The messages are those of
// https://www.freedesktop.org/software/systemd/man/latest/sd_notify.html
type Manager struct {
	socket   string        // empty: nobody is told
	watchdog time.Duration // within which it wants to hear that the service is live; 0 for never
	log      *slog.Logger
	ready    atomic.Pointer[string] // the status that Ready told; nil before
}

// NewManager is the manager that the environment names.
func NewManager(getenv func(string) string, log *slog.Logger) *Manager {
	m := &Manager{socket: getenv("NOTIFY_SOCKET"), log: log}
	// https://www.freedesktop.org/software/systemd/man/latest/sd_watchdog_enabled.html
	if pid := getenv("WATCHDOG_PID"); pid == "" || pid == strconv.Itoa(os.Getpid()) {
		if usec, err := strconv.ParseInt(getenv("WATCHDOG_USEC"), 10, 64); err == nil && usec > 0 {
			m.watchdog = time.Duration(usec) * time.Microsecond
		}
	}
	return m
}

// Ready tells that the service has started. The status is one line for people.
func (m *Manager) Ready(status string) {
	m.ready.Store(&status)
	m.tell("READY=1", "STATUS="+status)
}

// Reload tells that the service reads its configuration again, lets it do so, and tells that this is over: with
// the status that it returns, or else with that of Ready. A manager that was not told of Ready is told nothing.
func (m *Manager) Reload(read func() (status string)) {
	usual := m.ready.Load()
	if usual == nil {
		read()
		return
	}
	// Type=notify-reload asks for the time.
	m.tell("RELOADING=1", fmt.Sprintf("MONOTONIC_USEC=%d", monotonic().Microseconds()))
	m.tell("READY=1", "STATUS="+cmp.Or(read(), *usual))
}

// Stopping tells that the service ends, which takes it no longer than that.
func (m *Manager) Stopping(within time.Duration) {
	m.tell("STOPPING=1", fmt.Sprintf("EXTEND_TIMEOUT_USEC=%d", within.Microseconds()))
}

// Watch tells that the service is live, twice in the time of the watchdog, until ctx ends.
func (m *Manager) Watch(ctx context.Context, isLive func(context.Context) bool) {
	every := m.watchdog / 2
	if m.socket == "" || every <= 0 {
		return
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		if isLive(ctx) {
			m.tell("WATCHDOG=1")
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// tell sends one message. A manager that does not take it is no reason to stop a service that works.
func (m *Manager) tell(assignments ...string) {
	if m.socket == "" {
		return
	}
	if err := send(m.socket, strings.Join(assignments, "\n")); err != nil {
		m.log.Warn("the service manager was not told: check NOTIFY_SOCKET", "message", assignments[0], "err", err)
	}
}

// send sends a message to a socket in the file system, or in Linux's abstract namespace if its name begins
// with @.
func send(socket, message string) error {
	dialer := net.Dialer{Timeout: tellTimeout}
	conn, err := dialer.Dial("unixgram", socket)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetWriteDeadline(time.Now().Add(tellTimeout)); err != nil {
		return err
	}
	_, err = conn.Write([]byte(message))
	return err
}
