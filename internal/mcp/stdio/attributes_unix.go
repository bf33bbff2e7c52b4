//go:build unix && !linux

package stdio

import "syscall"

// attributes returns a process group of its own.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
