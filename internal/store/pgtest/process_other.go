//go:build !unix

package pgtest

import (
	"errors"
	"syscall"
)

func giveAway(string) error { return nil }

func attributes() *syscall.SysProcAttr { return nil }

// Freeze returns an error, because this system does not support it.
func (s *Server) Freeze() error { return errors.ErrUnsupported }

// Thaw does nothing on this system.
func (s *Server) Thaw() error { return nil }
