// Package systemd implements the two protocols between a service and its service manager: passing sockets
// (sd_listen_fds(3)) and status messages (sd_notify(3)). Other managers that follow these manual pages work as well.
package systemd

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
)

// firstPassed is the first file descriptor that a service manager passes: SD_LISTEN_FDS_START of
// https://www.freedesktop.org/software/systemd/man/latest/sd_listen_fds.html
const firstPassed = 3

// Listener returns the socket that the service manager has opened for this process; nil if there is none. Several
// sockets, or a socket that does not listen on TCP, are an error.
func Listener(getenv func(string) string) (net.Listener, error) {
	count, err := passed(getenv)
	if err != nil || count == 0 {
		return nil, err
	}
	name, _, _ := strings.Cut(getenv("LISTEN_FDNAMES"), ":")
	if count > 1 {
		return nil, fmt.Errorf("the service manager passed %d sockets (%s): the gateway accepts only one: keep one "+
			"ListenStream= in the socket unit", count, getenv("LISTEN_FDNAMES"))
	}
	file := os.NewFile(firstPassed, name)
	listener, err := net.FileListener(file) // duplicates the descriptor, which child processes do not inherit
	_ = file.Close()
	if err != nil {
		return nil, fmt.Errorf("use the socket %q of the service manager: %w: set ListenStream=ADDRESS:PORT "+
			"and Accept=no in the socket unit", name, err)
	}
	if _, ok := listener.(*net.TCPListener); !ok {
		_ = listener.Close()
		return nil, fmt.Errorf("the socket %q of the service manager uses the network %s: set "+
			"ListenStream=ADDRESS:PORT in the socket unit", name, listener.Addr().Network())
	}
	return listener, nil
}

// passed returns how many sockets were passed to this process.
func passed(getenv func(string) string) (int, error) {
	number := getenv("LISTEN_FDS")
	if number == "" || getenv("LISTEN_PID") != strconv.Itoa(os.Getpid()) {
		return 0, nil
	}
	count, err := strconv.Atoi(number)
	if err != nil || count < 0 {
		return 0, fmt.Errorf("LISTEN_FDS is %q: the service manager must set it to the number of sockets", number)
	}
	return count, nil
}
