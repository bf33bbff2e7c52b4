//go:build !linux

package rawio

import (
	"net"
	"os"
)

// Socket returns c: on this system, the scheduler is told of its calls.
func Socket(c net.Conn) net.Conn { return c }

// WakeMonitor does nothing: the monitor is awake.
func WakeMonitor() {}

// File is a file.
type File struct{ *os.File }

// NewFile returns a File, which takes over f.
func NewFile(f *os.File) *File { return &File{f} }
