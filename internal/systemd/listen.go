// Package systemd is what a service and its service manager say to each other: which socket the manager has
// opened for it (sd_listen_fds(3)), and what the service does (sd_notify(3)). Any manager that follows these
// two pages does as well.
package systemd

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
)

// firstPassed is the first file descriptor of those that a service manager passes: SD_LISTEN_FDS_START of
// https://www.freedesktop.org/software/systemd/man/latest/sd_listen_fds.html
const firstPassed = 3

// Listener is the socket that the service manager has opened for this process, nil for none. It is an error if
// there are several, or if the socket does not listen on TCP.
func Listener(getenv func(string) string) (net.Listener, error) {
	count, err := passed(getenv)
	if err != nil || count == 0 {
		return nil, err
	}
	name, _, _ := strings.Cut(getenv("LISTEN_FDNAMES"), ":")
	if count > 1 {
		return nil, fmt.Errorf("the service manager passed %d sockets (%s): the gateway takes one: leave one "+
			"ListenStream= in the socket unit", count, getenv("LISTEN_FDNAMES"))
	}
	file := os.NewFile(firstPassed, name)
	listener, err := net.FileListener(file) // of a copy, which no child process inherits
	_ = file.Close()
	if err != nil {
		return nil, fmt.Errorf("take the socket %q of the service manager: %w: set ListenStream=ADDRESS:PORT "+
			"and Accept=no in the socket unit", name, err)
	}
	if _, ok := listener.(*net.TCPListener); !ok {
		_ = listener.Close()
		return nil, fmt.Errorf("the socket %q of the service manager is of network %s: set ListenStream=ADDRESS:PORT "+
			"in the socket unit", name, listener.Addr().Network())
	}
	return listener, nil
}

// passed is how many sockets are for this process.
func passed(getenv func(string) string) (int, error) {
	number := getenv("LISTEN_FDS")
	if number == "" || getenv("LISTEN_PID") != strconv.Itoa(os.Getpid()) {
		return 0, nil
	}
	count, err := strconv.Atoi(number)
	if err != nil || count < 0 {
		return 0, fmt.Errorf("LISTEN_FDS is %q: the service manager has to set it to the number of sockets", number)
	}
	return count, nil
}
