//go:build unix

package stdio

import (
	"os"
	"syscall"
)

// ask asks a process and its children to end.
func ask(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGTERM) } // it may have ended

// kill ends a process and its children.
func kill(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) } // they may have ended
