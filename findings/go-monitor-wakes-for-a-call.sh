#!/usr/bin/env bash
# In an idle process of Go 1.26.8, one system call of 0.1 µs wakes up the runtime's monitor thread, which then looks each
# 20 µs by its clock whether a call blocks, as long as the process works. One would expect that a call which does not
# block costs nothing but itself. The same call by RawSyscall does. Linux only.
#
# Output seen on 2026-11-30, two busy cores (5 to 8 times in three runs):
#   system call: 7 times as many context switches as raw system call
set -euo pipefail
dir=$(mktemp -d)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
cd "$dir"

cat >main.go <<'GO'
package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"syscall"
	"time"
	"unsafe"
)

const bytes = 200 // sent, one each 5 ms

func main() {
	if len(os.Args) > 1 { // the sender, a process of its own
		c, err := net.Dial("tcp4", os.Args[1])
		for i := 0; err == nil && i < 2*bytes; i++ {
			time.Sleep(5 * time.Millisecond)
			_, err = c.Write([]byte{1})
		}
		return
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	sender := exec.Command("/proc/self/exe", l.Addr().String())
	if err := sender.Start(); err != nil {
		panic(err)
	}
	c, err := l.Accept()
	if err != nil {
		panic(err)
	}
	raw, _ := c.(*net.TCPConn).SyscallConn()
	switches := func(call func()) int64 {
		var before, after syscall.Rusage
		_ = syscall.Getrusage(syscall.RUSAGE_SELF, &before)
		for range bytes {
			if err := raw.Read(func(fd uintptr) bool {
				var b [1]byte
				n, _, _ := syscall.RawSyscall(syscall.SYS_READ, fd, uintptr(unsafe.Pointer(&b)), 1)
				return int(n) == 1
			}); err != nil {
				panic(err)
			}
			call()
			for began := time.Now(); time.Since(began) < time.Millisecond; { // work
			}
		}
		_ = syscall.Getrusage(syscall.RUSAGE_SELF, &after)
		return after.Nvcsw - before.Nvcsw
	}
	quiet := switches(func() { _, _, _ = syscall.RawSyscall(syscall.SYS_GETPID, 0, 0, 0) })
	told := switches(func() { _, _, _ = syscall.Syscall(syscall.SYS_GETPID, 0, 0, 0) })
	fmt.Printf("system call: %d times as many context switches as raw system call\n", told/max(1, quiet))
	if told < 3*quiet {
		os.Exit(1)
	}
}
GO
cat >go.mod <<'MOD'
module example.com/monitor

go 1.26
MOD
go build -o monitor .
GOMAXPROCS=1 ./monitor
