//go:build !unix

package h1

import "errors"

const readsNow = false

// ReadNow is not supported: RawOf returns nil.
func ReadNow(uintptr, []byte) (int, error) { return 0, errors.ErrUnsupported }
