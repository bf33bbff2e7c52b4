package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// watch measures the CPU time and the memory of a process over a window. All values are zero for process 0.
type watch struct {
	pid           int
	before, after int64         // resident bytes before the load and at the end of the window
	cpu           time.Duration // of the window
	start         time.Duration
}

const (
	// A process is quiet when it uses less than a thirtieth of a core; with PostgreSQL it polls all the time.
	quietStep  = 250 * time.Millisecond
	quietCPU   = quietStep / 30
	quietLimit = 10 * time.Second
)

// begin measures the memory before the load.
func (w *watch) begin() error {
	err := w.end()
	w.before = w.after
	return err
}

// mark begins the window.
func (w *watch) mark() error {
	w.start = 0
	err := w.end()
	w.start = w.cpu
	return err
}

// end ends the window.
func (w *watch) end() (err error) {
	if w.pid == 0 {
		return nil
	}
	now, err := cpuOf(w.pid)
	if err == nil {
		w.cpu = now - w.start
		w.after, err = residentOf(w.pid)
	}
	return err
}

// quiet ends the window when the process has no more work.
func (w *watch) quiet(ctx context.Context) error {
	for deadline := time.Now().Add(quietLimit); time.Now().Before(deadline); {
		known := w.cpu
		if w.pid != 0 {
			if err := pause(ctx, quietStep); err != nil {
				return err
			}
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
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// cpuOf returns the CPU time used by all threads of a process.
func cpuOf(pid int) (time.Duration, error) {
	threads, err := procfs.AllThreads(pid)
	if err != nil {
		return 0, fmt.Errorf("CPU time of process %d: %w", pid, err)
	}
	var sum time.Duration
	read := false
	for _, thread := range threads {
		stat, err := thread.Schedstat()
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
			continue // the thread has just ended
		}
		if err != nil {
			return 0, err
		}
		sum, read = sum+time.Duration(stat.RunningNanoseconds), true
	}
	if !read {
		return 0, fmt.Errorf("CPU time of process %d: it has ended, or the kernel has no schedstat", pid)
	}
	return sum, nil
}

// residentOf returns the exact resident memory in bytes.
func residentOf(pid int) (int64, error) {
	process, err := procfs.NewProc(pid)
	if err != nil {
		return 0, err
	}
	maps, err := process.ProcSMapsRollup()
	return int64(maps.Rss), err
}

// allowedCores returns the cores that this process may use, in order.
func allowedCores() (cores []int, err error) {
	var s unix.CPUSet
	err = unix.SchedGetaffinity(0, &s)
	for core := range len(s) * 64 {
		if s.IsSet(core) {
			cores = append(cores, core)
		}
	}
	return cores, err
}

// pinThread pins a thread of this process to one core, or frees it for allCores; 0 is the calling thread.
func pinThread(tid, core int) error {
	var s unix.CPUSet
	if core == allCores {
		s.Fill()
	} else {
		s.Set(core)
	}
	if err := unix.SchedSetaffinity(tid, &s); err != nil {
		return fmt.Errorf("pin to core %d: %w", core, err)
	}
	return nil
}

// pinSelf pins all threads of this process.
func pinSelf(core int) error {
	threads, err := procfs.AllThreads(os.Getpid())
	for _, thread := range threads {
		if pinErr := pinThread(thread.PID, core); !errors.Is(pinErr, unix.ESRCH) {
			err = errors.Join(err, pinErr)
		}
	}
	return err
}
