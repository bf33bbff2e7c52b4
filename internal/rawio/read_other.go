//go:build !unix

package rawio

import "errors"

const reads = false

// Read is not supported: Of returns nil.
func Read(uintptr, []byte) (int, error) { return 0, errors.ErrUnsupported }
