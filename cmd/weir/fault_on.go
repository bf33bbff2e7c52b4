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

// skipWrite is not a point to die at: it loses writes of the journal.
const skipWrite = "journal.skip_write"

// faults breaks the ledger as the environment says. WEIR_FAULT is the name of
// a point and a number: with "journal.after_write:100" the process dies, as
// from kill -9, when it comes there for the 100th time; with
// "journal.skip_write:7" every 7th write of the journal is lost in silence.
// WEIR_FAULT_SEGMENT is the size of a segment in bytes, so that there are many.
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

// lossyDisk loses every so-manieth write and says that it has not.
type lossyDisk struct {
	ledger.Disk
	every  int64
	writes *atomic.Int64
}

// Create makes a file that loses writes.
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

// WriteAt writes, or does not. The header of a segment, at 0, is never lost.
func (f lossyFile) WriteAt(p []byte, off int64) (int, error) {
	if off > 0 && f.disk.writes.Add(1)%f.disk.every == 0 {
		return len(p), nil
	}
	return f.File.WriteAt(p, off)
}
