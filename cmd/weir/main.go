// Command weir is an AI gateway: it forwards chat to model providers and meters
// every token of it.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
)

// Exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

// gcPercent lets the heap grow to five times what lives before it is collected:
// little lives, and collecting it costs more than the memory.
const gcPercent = 400

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	os.Exit(run())
}

// run runs the command line. The first signal asks it to stop, the second one
// ends the process.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	env := &environment{stdout: os.Stdout, stderr: os.Stderr}
	root := newRoot(env)
	cmd, err := root.ExecuteContextC(ctx)
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, errQuiet):
		return exitFailed
	}
	fmt.Fprintf(os.Stderr, "weir: %v\n", err)
	if isUsage(err) {
		fmt.Fprintf(os.Stderr, "\nSee %q.\n", cmd.CommandPath()+" --help")
		return exitUsage
	}
	return exitFailed
}
