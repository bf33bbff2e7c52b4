package main

import (
	"os"
	"os/user"
	"strconv"

	"weir/internal/audit"
)

// actor returns the person who runs the command: the user name of the operating system, or the user id if there is no
// name.
func actor() audit.Actor {
	name := strconv.Itoa(os.Getuid())
	if u, err := user.Current(); err == nil && u.Username != "" {
		name = u.Username
	}
	return audit.Actor{Kind: audit.Command, Name: name}
}
