package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// watch reads the CPU time and the memory of a process around a window. All of
// it is zero for process 0.
type watch struct {
	pid           int
	before, after int64         // resident bytes before the load and at the end of the window
	cpu           time.Duration // of the window
	start         time.Duration
}

const (
	// A process is quiet when it uses less than a thirtieth of a core: with PostgreSQL it asks for news all the time.
	quietStep  = 250 * time.Millisecond
	quietCPU   = quietStep / 30
	quietLimit = 10 * time.Second
)

// begin reads the memory before there is load.
func (w *watch) begin() (err error) {
	if w.pid != 0 {
		w.before, err = residentOf(w.pid)
	}
	return err
}

// mark begins the window.
func (w *watch) mark() (err error) {
	if w.pid != 0 {
		w.start, err = cpuOf(w.pid)
	}
	return err
}

// end ends the window.
func (w *watch) end() error {
	if w.pid == 0 {
		return nil
	}
	now, err := cpuOf(w.pid)
	if err != nil {
		return err
	}
	w.cpu = now - w.start
	w.after, err = residentOf(w.pid)
	return err
}

// quiet ends the window once the process has nothing left to do.
func (w *watch) quiet(ctx context.Context) error {
	if w.pid == 0 {
		return nil
	}
	for deadline := time.Now().Add(quietLimit); time.Now().Before(deadline); {
		known := w.cpu
		if err := pause(ctx, quietStep); err != nil {
			return err
		}
		if err := w.end(); err != nil {
			return err
		}
		if w.cpu-known < quietCPU {
			return nil
		}
	}
	return fmt.Errorf("process %d still works %s after the load ended", w.pid, quietLimit)
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// cpuOf is the CPU time that all threads of a process have used, from schedstat
// (nanoseconds) or, on a kernel without it, from stat (hundredths of a second).
func cpuOf(pid int) (time.Duration, error) {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(tasks) == 0 {
		return ticksOf(pid)
	}
	var sum int64
	for _, path := range tasks {
		text, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue // a thread that has just ended
		}
		if err != nil {
			return 0, err
		}
		first, _, _ := bytes.Cut(text, []byte(" "))
		n, err := strconv.ParseInt(string(first), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", path, err)
		}
		sum += n
	}
	return time.Duration(sum), nil
}

// ticksOf reads utime and stime, fields 14 and 15 of stat (proc(5)).
func ticksOf(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("CPU time of process %d: %w", pid, err)
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 13 {
		return 0, fmt.Errorf("CPU time of process %d: stat has %d fields", pid, len(fields))
	}
	user, err1 := strconv.ParseInt(fields[11], 10, 64)
	system, err2 := strconv.ParseInt(fields[12], 10, 64)
	const tick = time.Second / 100 // sysconf(_SC_CLK_TCK), 100 on every Linux that Go runs on
	return time.Duration(user+system) * tick, errors.Join(err1, err2)
}

// residentOf is the resident memory in bytes, counted exactly.
func residentOf(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0, fmt.Errorf("memory of process %d: %w", pid, err)
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "Rss:" {
			kb, err := strconv.ParseInt(fields[1], 10, 64)
			return kb << 10, err
		}
	}
	return 0, fmt.Errorf("memory of process %d: smaps_rollup has no Rss", pid)
}

// cpuSet is the set of cores of sched_setaffinity(2).
type cpuSet [16]uint64

// coreSet is that core alone, or every core for allCores.
func coreSet(core int) (s cpuSet) {
	if core == allCores {
		for i := range s {
			s[i] = math.MaxUint64
		}
		return s
	}
	s[core/64] = 1 << (core % 64)
	return s
}

// allowedCores are the cores that this process may use, in order.
func allowedCores() ([]int, error) {
	var s cpuSet
	if _, _, errno := syscall.RawSyscall(syscall.SYS_SCHED_GETAFFINITY, 0, unsafe.Sizeof(s), uintptr(unsafe.Pointer(&s))); errno != 0 {
		return nil, fmt.Errorf("the cores of this process: %w", errno)
	}
	var cores []int
	for core := range len(s) * 64 {
		if s[core/64]>>(core%64)&1 == 1 {
			cores = append(cores, core)
		}
	}
	return cores, nil
}

// pinThread binds a thread of this process to one core, or frees it for allCores; 0 is the one that
// calls.
func pinThread(tid, core int) error {
	s := coreSet(core)
	if _, _, errno := syscall.RawSyscall(syscall.SYS_SCHED_SETAFFINITY, uintptr(tid), unsafe.Sizeof(s), uintptr(unsafe.Pointer(&s))); errno != 0 {
		return fmt.Errorf("pin to core %d: %w", core, errno)
	}
	return nil
}

// pinSelf binds all threads of this process.
func pinSelf(core int) error {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return err
	}
	for _, task := range tasks {
		tid, err := strconv.Atoi(task.Name())
		if err != nil {
			return err
		}
		if err := pinThread(tid, core); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
	}
	return nil
}
