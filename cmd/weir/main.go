// Command weir is an AI gateway: it forwards chat to model providers and meters every token.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"weir/internal/llm"
)

// Exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	os.Exit(run())
}

// sentenceOf returns the text of an error without the code, which is for programs.
func sentenceOf(err error) string {
	text := err.Error()
	if e, ok := errors.AsType[*llm.Error](err); ok {
		text = strings.Replace(text, string(e.Code)+": ", "", 1)
	}
	return text
}

// run runs the command line. The first signal stops it gracefully, the second one kills the process.
func run() int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		signal.Stop(signals) // before the first signal has any visible effect
		cancel()
	}()
	env := &environment{output: output{stdout: os.Stdout, stderr: os.Stderr}}
	root := newRoot(env)
	cmd, err := root.ExecuteContextC(ctx)
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, errQuiet):
		return exitFailed
	}
	fmt.Fprintf(os.Stderr, "weir: %s\n", sentenceOf(err))
	if isUsage(err) {
		fmt.Fprintf(os.Stderr, "\nSee %q.\n", cmd.CommandPath()+" --help")
		return exitUsage
	}
	return exitFailed
}
