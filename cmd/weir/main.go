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

// sentenceOf returns the text of an error without the code, which is for programs. Of a missing object it names the
// command that lists those that exist.
func sentenceOf(err error) string {
	text := err.Error()
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return text
	}
	text = strings.Replace(text, string(e.Code)+": ", "", 1)
	if list := listOf(e.Param); e.Code == llm.CodeNotFound && list != "" && !strings.Contains(text, "weir ") {
		text = strings.TrimSuffix(text, ".") + ": " + list + " shows those that exist."
	}
	return text
}

// listOf returns the command that lists the objects of a parameter; empty for none.
func listOf(param string) string {
	switch param {
	case "account":
		return "weir accounts list"
	case "key":
		return "weir keys list --account NAME"
	case "webhook":
		return "weir webhooks list"
	}
	return ""
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
