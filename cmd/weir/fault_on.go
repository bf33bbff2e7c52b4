//go:build faultpoints

package main

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

// faultPoint makes the process die, as from kill -9, when it comes to the
// point that WEIR_FAULT names for the nth time: "journal.after_write:100".
func faultPoint() func(string) {
	name, nth, _ := strings.Cut(os.Getenv("WEIR_FAULT"), ":")
	n, err := strconv.ParseInt(nth, 10, 64)
	if name == "" || err != nil {
		return nil
	}
	var hits atomic.Int64
	return func(point string) {
		if point == name && hits.Add(1) == n {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
}
