//go:build unix

package pgtest

import (
	"errors"
	"fmt"
	"os"
	osuser "os/user"
	"strconv"
	"strings"
	"syscall"
)

// account returns the user that runs the programs, which refuse root; nil for the user of the test.
func account() *syscall.Credential {
	if os.Geteuid() != 0 {
		return nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := osuser.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		gid, gerr := strconv.ParseUint(u.Gid, 10, 32)
		if err == nil && gerr == nil {
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		}
	}
	return nil
}

// giveAway gives a directory to the programs' user.
func giveAway(dir string) error {
	id := account()
	if id == nil {
		return nil
	}
	return os.Chown(dir, int(id.Uid), int(id.Gid))
}

// attributes returns the attributes of the programs' processes: a process group of their own, so that they do not
// receive the test's signals.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: account(), Setpgid: true}
}

// Freeze stops every process of the server, like a machine that hangs: its connections stay open without answers. New
// connections are accepted and hang too.
func (s *Server) Freeze() error {
	if s.cmd == nil {
		return errors.New("the server does not run")
	}
	postmaster := s.cmd.Process.Pid
	if err := s.stop(postmaster); err != nil { // so that it starts no more processes
		return err
	}
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", postmaster, postmaster))
	if err != nil {
		return errors.Join(err, s.Thaw())
	}
	for text := range strings.FieldsSeq(string(children)) {
		pid, err := strconv.Atoi(text)
		if err == nil {
			err = s.stop(pid)
		}
		if err != nil && !errors.Is(err, syscall.ESRCH) {
			return errors.Join(err, s.Thaw())
		}
	}
	return nil
}

func (s *Server) stop(pid int) error {
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return err
	}
	s.stopped = append(s.stopped, pid)
	return nil
}

// Thaw resumes a frozen server.
func (s *Server) Thaw() error {
	var errs []error
	for i := len(s.stopped) - 1; i >= 0; i-- {
		if err := syscall.Kill(s.stopped[i], syscall.SIGCONT); err != nil && !errors.Is(err, syscall.ESRCH) {
			errs = append(errs, err)
		}
	}
	s.stopped = nil
	return errors.Join(errs...)
}
