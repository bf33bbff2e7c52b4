package systemd

import (
	"time"

	"golang.org/x/sys/unix"
)

// monotonic returns the machine's CLOCK_MONOTONIC, by which systemd orders messages; 0 if it cannot be read.
func monotonic() time.Duration {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) != nil {
		return 0
	}
	return time.Duration(now.Nano())
}
