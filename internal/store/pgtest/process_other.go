//go:build !unix

package pgtest

import (
	"errors"
	"syscall"
)

func giveAway(string) error { return nil }

func attributes() *syscall.SysProcAttr { return nil }

// Freeze is not possible on this system.
func (s *Server) Freeze() error { return errors.ErrUnsupported }

// Thaw has nothing to do on this system.
func (s *Server) Thaw() error { return nil }
