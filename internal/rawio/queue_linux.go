package rawio

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// syncQueue has the kernel sync a file in the background (io_submit(2), IOCB_CMD_FDSYNC), and report it to a descriptor
// that the runtime polls like a socket.
type syncQueue struct {
	context uintptr
	reports *os.File
	raw     syscall.RawConn
}

// iocb and ioEvent are the structures of linux/aio_abi.h.
type iocb struct {
	_      [16]byte
	code   uint16
	_      uint16
	fd     uint32
	_      [32]byte
	flags  uint32
	report uint32 // the descriptor for the report
}

type ioEvent struct {
	_      [16]byte
	result int64 // the negative error number
	_      int64
}

const (
	syncDataCode = 3 // IOCB_CMD_FDSYNC
	reportFlag   = 1 // IOCB_FLAG_RESFD
)

func openSyncQueue() (*syncQueue, error) {
	fd, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	q := &syncQueue{reports: os.NewFile(uintptr(fd), "eventfd")}
	if q.raw, err = q.reports.SyscallConn(); err == nil {
		if _, _, errno := syscall.Syscall(unix.SYS_IO_SETUP, 1, uintptr(unsafe.Pointer(&q.context)), 0); errno != 0 {
			err = errno
		}
	}
	if err != nil {
		_ = q.reports.Close()
		return nil, err
	}
	return q, nil
}

// sync syncs the data of a file, and reports whether that was tried. The error is that of the sync.
func (q *syncQueue) sync(file syscall.RawConn) (done bool, err error) {
	if err := q.submit(file); err != nil {
		return false, err
	}
	var number [8]byte
	if waited := q.raw.Read(func(own uintptr) bool {
		_, err = Read(own, number[:])
		return err != ErrNothingNow //nolint:errorlint // as Read returns it
	}); waited != nil || err != nil {
		return true, unix.EIO // whether the data are on the disk is unknown
	}
	var event [1]ioEvent
	var now unix.Timespec
	n, _, errno := syscall.RawSyscall6(unix.SYS_IO_GETEVENTS, q.context, 1, 1, uintptr(unsafe.Pointer(&event)),
		uintptr(unsafe.Pointer(&now)), 0)
	switch {
	case errno != 0:
		return true, errno
	case n != 1:
		return true, unix.EIO
	case event[0].result < 0:
		return true, syscall.Errno(-event[0].result)
	}
	return true, nil
}

// submit has the kernel begin the sync of a file.
func (q *syncQueue) submit(file syscall.RawConn) error {
	work := &iocb{code: syncDataCode, flags: reportFlag}
	err := q.raw.Control(func(fd uintptr) { work.report = uint32(fd) })
	if err != nil {
		return err
	}
	list := [1]*iocb{work}
	var errno syscall.Errno
	err = file.Control(func(fd uintptr) {
		work.fd = uint32(fd)
		_, _, errno = syscall.RawSyscall(unix.SYS_IO_SUBMIT, q.context, 1, uintptr(unsafe.Pointer(&list)))
	})
	if err == nil && errno != 0 {
		err = errno
	}
	return err
}

func (q *syncQueue) close() error {
	_, _, _ = syscall.Syscall(unix.SYS_IO_DESTROY, q.context, 0, 0) // waits for what is under way
	return q.reports.Close()
}
