package stdio

import "syscall"

// attributes returns a process group of its own, and the end of the process together with Weir. The kernel sends the
// signal when the thread ends that has started the process.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
