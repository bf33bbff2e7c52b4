//go:build !unix

package stdio

import (
	"os"
	"syscall"
)

func attributes() *syscall.SysProcAttr { return nil }

// ask does nothing: the process reads the end of its input.
func ask(*os.Process) {}

// kill ends a process.
func kill(p *os.Process) { _ = p.Kill() } // it may have ended
