package processtest

import (
	"os/exec"
	"syscall"
)

// endWithParent lets the kernel kill the process if the test process is killed.
func endWithParent(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
