package processtest

import (
	"os/exec"
	"syscall"
)

// endWithParent kills the process should the test itself be killed.
func endWithParent(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
