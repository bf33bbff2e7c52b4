//go:build !linux

package systemd

import "time"

// monotonic is 0: systemd runs on Linux alone.
func monotonic() time.Duration { return 0 }
