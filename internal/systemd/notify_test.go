package systemd_test

import (
	"context"
	"log/slog"
	"net"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"weir/internal/must"
	"weir/internal/systemd"
)

// TestWatchdogWhileLive checks that the watchdog is notified twice in its time while the service is live, and not at
// all while it is not. Other notifications are tested with the real program, in cmd/weir.
func TestWatchdogWhileLive(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		usec string
		live bool
		want int // messages in 25 s
	}{
		"live":        {"20000000", true, 3}, // at 0, 10 and 20 s
		"dead":        {"20000000", false, 0},
		"no watchdog": {"", true, 0},
		"no number":   {"soon", true, 0},
		"no time":     {"0", true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "notify")
			socket := must.Get(net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"}))(t)
			defer socket.Close()
			env := map[string]string{"NOTIFY_SOCKET": path, "WATCHDOG_USEC": test.usec}
			synctest.Test(t, func(t *testing.T) {
				m := systemd.NewManager(func(name string) string { return env[name] }, slog.New(slog.DiscardHandler))
				ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
				defer cancel()
				m.Watch(ctx, func(context.Context) bool { return test.live })
			})
			must.Equal(t, count(t, socket), test.want, "messages")
		})
	}
}

// count reads all received messages, and checks that each is the watchdog's.
func count(t *testing.T, socket *net.UnixConn) (n int) {
	t.Helper()
	for ; ; n++ {
		must.Do(t, socket.SetReadDeadline(time.Now().Add(50*time.Millisecond))) // they have been received already
		var message [64]byte
		length, err := socket.Read(message[:])
		if err != nil {
			return n
		}
		must.Equal(t, string(message[:length]), "WATCHDOG=1", "a message")
	}
}
