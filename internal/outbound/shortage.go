package outbound

import (
	"errors"
	"slices"
	"strings"
	"syscall"
)

// shortages returns the errors of a process or a machine that cannot open more files or has no memory for connections.
func shortages() []error {
	return []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM}
}

// IsShort reports whether an error means that this process or machine cannot open more files or has no memory for
// connections. The other end is not at fault.
func IsShort(err error) bool {
	return slices.ContainsFunc(shortages(), func(e error) bool { return errors.Is(err, e) })
}

// EndsShort reports the same for the text of an error.
func EndsShort(text string) bool {
	return slices.ContainsFunc(shortages(), func(e error) bool { return strings.HasSuffix(text, e.Error()) })
}
