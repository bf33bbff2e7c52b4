//go:build !linux

package processtest

import "os/exec"

// endWithParent does nothing: only Linux can have a process end with another.
func endWithParent(*exec.Cmd) {}
