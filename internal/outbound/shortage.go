package outbound

import (
	"errors"
	"slices"
	"strings"
	"syscall"
)

// shortages are the errors of a process that can open no more files, or of a machine that can open no more or has no
// memory for connections.
func shortages() []error {
	return []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM}
}

// IsShort reports whether this process, or this machine, can open no more files or has no memory for connections. What
// is at the other end has no part in it.
func IsShort(err error) bool {
	return slices.ContainsFunc(shortages(), func(e error) bool { return errors.Is(err, e) })
}

// EndsShort reports the same of an error of which only the text was kept.
func EndsShort(text string) bool {
	return slices.ContainsFunc(shortages(), func(e error) bool { return strings.HasSuffix(text, e.Error()) })
}
