//go:build faultpoints

package main

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"weir/internal/ledger"
)

// skipWrite names the fault that loses writes of the journal, instead of killing the process.
const skipWrite = "journal.skip_write"

// faults injects faults into the ledger. WEIR_FAULT is the name of a fault point and a number: with
// "journal.after_write:100" the process kills itself, like kill -9, when it reaches that point for the 100th time;
// with "journal.skip_write:7" every 7th write of the journal is silently lost. WEIR_FAULT_SEGMENT is the size of a
// segment in bytes, so that a test can have many.
func faults() func(*ledger.Options) {
	name, nth, _ := strings.Cut(os.Getenv("WEIR_FAULT"), ":")
	n, err := strconv.ParseInt(nth, 10, 64)
	size, sizeErr := strconv.ParseInt(os.Getenv("WEIR_FAULT_SEGMENT"), 10, 64)
	return func(o *ledger.Options) {
		if sizeErr == nil {
			o.SegmentSize = size
		}
		switch {
		case err != nil || n <= 0:
		case name == skipWrite:
			o.Disk = lossyDisk{ledger.Directory(o.Dir), n, new(atomic.Int64)}
		default:
			o.Fault = dieAt(name, n)
		}
	}
}

func dieAt(name string, n int64) func(string) {
	var hits atomic.Int64
	return func(point string) {
		if point == name && hits.Add(1) == n {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
}

// lossyDisk loses every nth write and reports success.
type lossyDisk struct {
	ledger.Disk
	every  int64
	writes *atomic.Int64
}

// Create creates a file that loses writes.
func (d lossyDisk) Create(name string, size, keep int64) (ledger.File, error) {
	f, err := d.Disk.Create(name, size, keep)
	if err != nil {
		return nil, err
	}
	return lossyFile{f, d}, nil
}

type lossyFile struct {
	ledger.File
	disk lossyDisk
}

// WriteAt writes p, or drops it and reports success. It never drops the header of a segment, at offset 0.
func (f lossyFile) WriteAt(p []byte, off int64) (int, error) {
	if off > 0 && f.disk.writes.Add(1)%f.disk.every == 0 {
		return len(p), nil
	}
	return f.File.WriteAt(p, off)
}
