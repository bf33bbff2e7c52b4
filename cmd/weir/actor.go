package main

import (
	"os"
	"os/user"
	"strconv"

	"weir/internal/audit"
)

// actor is who runs the command, by the name that the operating system has for
// them, or by their number there.
func actor() audit.Actor {
	name := strconv.Itoa(os.Getuid())
	if u, err := user.Current(); err == nil && u.Username != "" {
		name = u.Username
	}
	return audit.Actor{Kind: audit.Command, Name: name}
}
