//go:build !unix

package provider

import "errors"

// canReadNow is whether readNow works on this system. Where it does not, no
// idle connection can be told from a closed one, and net/http is used, which
// has a goroutine watch each.
const canReadNow = false

func readNow(uintptr, []byte) (int, error) { return 0, errors.ErrUnsupported }
