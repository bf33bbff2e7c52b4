package rawio

import (
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

// File is a file whose short writes the scheduler is not told of, and whose syncs occupy none of Go's processors: on
// one processor, nothing else would run until the monitor notices that the call blocks.
type File struct {
	*os.File
	raw syscall.RawConn

	mu   sync.Mutex            // guards all below
	call func(fd uintptr) bool // write as a value, created once; works on the fields below
	p    []byte
	at   int64
	n    int
	err  error
	slow time.Time // until then the scheduler is told of writes

	syncing sync.Mutex // guards all below
	queue   *syncQueue // nil before the first sync, and if the kernel has none for the file
	asked   bool       // whether the kernel has one
}

// NewFile returns a File, which takes over f.
func NewFile(f *os.File) *File {
	n := &File{File: f}
	n.raw, _ = f.SyscallConn() // the error is that of a nil file
	n.call = n.write
	return n
}

// A write that takes longer than slowWrite had to wait for the disk, or its thread for a processor. For slowShare times
// as long as it took, the scheduler is told of writes, so that others run while they wait.
const (
	slowWrite = time.Millisecond
	slowShare = 20
)

// WriteAt implements io.WriterAt.
func (f *File) WriteAt(p []byte, at int64) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	began := time.Now()
	if began.Before(f.slow) {
		return f.File.WriteAt(p, at)
	}
	f.p, f.at, f.n, f.err = p, at, 0, nil
	err := f.raw.Write(f.call)
	f.p = nil
	if took := time.Since(began); took > slowWrite {
		f.slow = began.Add(slowShare * took)
	}
	if f.err == nil {
		f.err = err
	}
	return f.n, f.err
}

// write writes f.p, and ends at the first error.
func (f *File) write(fd uintptr) bool {
	for f.n < len(f.p) {
		rest := f.p[f.n:]
		n, _, errno := syscall.RawSyscall6(syscall.SYS_PWRITE64, fd, uintptr(unsafe.Pointer(unsafe.SliceData(rest))),
			uintptr(len(rest)), uintptr(f.at+int64(f.n)), 0, 0)
		switch {
		case errno == syscall.EINTR:
		case errno != 0:
			f.err = os.NewSyscallError("pwrite", errno)
			return true
		case n == 0:
			f.err = io.ErrUnexpectedEOF // as os.File, so that the loop ends
			return true
		default:
			f.n += int(n)
		}
	}
	return true
}

// Sync writes the data to the disk, and the metadata that is needed to read it back (fdatasync(2)).
func (f *File) Sync() error {
	f.syncing.Lock()
	defer f.syncing.Unlock()
	if !f.asked {
		f.asked = true
		f.queue, _ = openSyncQueue() // without one, the call waits
	}
	if f.queue != nil {
		done, err := f.queue.sync(f.raw)
		if done {
			return err
		}
		_ = f.queue.close() // it is not usable for this file
		f.queue = nil
	}
	for {
		var err error
		if lost := f.raw.Control(func(fd uintptr) { err = syscall.Fdatasync(int(fd)) }); lost != nil {
			return lost
		}
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// Close closes the file, after a sync that is under way.
func (f *File) Close() error {
	f.syncing.Lock()
	defer f.syncing.Unlock()
	if f.queue != nil {
		_ = f.queue.close()
		f.queue = nil
	}
	f.asked = true
	return f.File.Close()
}
