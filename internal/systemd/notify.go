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

// Manager sends messages to the service manager of this process, if it wants them. The messages are those of
// https://www.freedesktop.org/software/systemd/man/latest/sd_notify.html
type Manager struct {
	socket   string        // empty: no messages are sent
	watchdog time.Duration // longest time between two messages; 0 for no watchdog
	log      *slog.Logger
	ready    atomic.Pointer[string] // status sent by Ready; nil before
}

// NewManager returns the manager for the environment's settings.
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

// Ready reports that the service has started. The status is one line for people.
func (m *Manager) Ready(status string) {
	m.ready.Store(&status)
	m.tell("READY=1", "STATUS="+status)
}

// Reload reports that the service is reloading its configuration, calls read, and reports the end with the status that
// read returns, or with that of Ready if it is empty. Before Ready it only calls read.
func (m *Manager) Reload(read func() (status string)) {
	usual := m.ready.Load()
	if usual == nil {
		read()
		return
	}
	// Type=notify-reload requires the time.
	m.tell("RELOADING=1", fmt.Sprintf("MONOTONIC_USEC=%d", monotonic().Microseconds()))
	m.tell("READY=1", "STATUS="+cmp.Or(read(), *usual))
}

// Stopping reports that the service is stopping, and will end within the duration.
func (m *Manager) Stopping(within time.Duration) {
	m.tell("STOPPING=1", fmt.Sprintf("EXTEND_TIMEOUT_USEC=%d", within.Microseconds()))
}

// Watch reports that the service is alive, twice per watchdog interval, until ctx ends.
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

// tell sends one message. A failure is only logged, because the service itself works.
func (m *Manager) tell(assignments ...string) {
	if m.socket == "" {
		return
	}
	if err := send(m.socket, strings.Join(assignments, "\n")); err != nil {
		m.log.Warn("failed to notify the service manager: check NOTIFY_SOCKET", "message", assignments[0], "err", err)
	}
}

// send sends a message to a socket in the file system, or in Linux's abstract namespace if its name begins with @.
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
