// Command bench measures the gateway next to nginx as a reverse proxy, in one run on one machine. The gateway has one
// core to itself; a mock provider and the load share another. See docs/performance.md for the method.
//
//	go run ./bench run
//
// The figures that are least sensitive to noise are quotients of one run: requests per CPU second of the process, and
// their ratio to nginx. Absolute figures are only comparable within one run.
//
// Two builds are compared in turns: all run at the same time, and the load alternates between them.
//
//	go run ./bench turns --base PATH
//
// The command also fills a database like a busy year, and measures its reports: go run ./bench seed, go run ./bench
// reports, and for the pages of a gateway with that database go run ./bench pages.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

const usage = `bench measures the gateway next to nginx on loopback.

  bench run  [--gateway PATH] [--short] [--only PART] [--rival COMMAND] [--json] [--dir DIR]
  bench turns --base PATH [--gateway PATH] [--rounds N] [--only WORDS] [--rival COMMAND [--rival-messages PATH]]
              [--conns N] [--shared] [--json] [--dir DIR]
  bench frames [--gateway PATH] [--base PATH] [--rounds N] [--json] [--dir DIR]
  bench charts FILE
  bench mock --listen 127.0.0.1:PORT
  bench seed --database postgres://… | --data DIR [--requests N] [--rows N] [--days N] [--accounts N] [--refusals N]
             [--end TIME [--until TIME]]
  bench reports --database postgres://… | --data DIR [--rounds N]
  bench pages --url URL [--cookie NAME=VALUE] [--key KEY] [--pid N] [--rounds N] [--only WORDS]
  bench load --target 127.0.0.1:PORT [--api chat|completions] [--conns N] [--duration D]
             [--rate N [--open [--batch SHARE]]] [--stream --model s50d10ms]
  bench flood --target 127.0.0.1:PORT --pid N [--rate N] [--conns N] [--duration D] [--turns N]

All except charts, which draws the output of "bench run --json" as SVG, accept --help.
`

// errUsage means that the command line is invalid.
var errUsage = errors.New("wrong usage")

func main() { os.Exit(command()) }

// command runs the command line and returns the exit code: 0 success, 1 failure, 2 wrong usage.
func command() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := dispatch(ctx, os.Args[1:], os.Stdout, os.Stderr)
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.Is(err, errUsage):
		fmt.Fprintf(os.Stderr, "bench: %v\n\n%s", err, usage)
		return 2
	}
	fmt.Fprintf(os.Stderr, "bench: %v\n", err)
	return 1
}

func dispatch(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) == 0 {
		return fmt.Errorf("%w: name a command: run, turns, frames, charts, mock, load, flood, seed, reports or pages", errUsage)
	}
	switch args[0] {
	case "-h", "--help", "help":
		_, err := io.WriteString(stdout, usage)
		return err
	}
	command := map[string]func(context.Context, []string, io.Writer, io.Writer) error{
		"run": runCommand, "turns": turnsCommand, "charts": chartsCommand, "mock": mockCommand, "load": loadCommand,
		"seed": seedCommand, "reports": reportsCommand, "pages": pagesCommand,
		"flood": floodCommand, "frames": framesCommand,
	}[args[0]]
	if command == nil {
		return fmt.Errorf("%w: unknown command %q: use run, turns, frames, charts, mock, load, flood, seed, reports or pages",
			errUsage, args[0])
	}
	return command(ctx, args[1:], stdout, stderr)
}

// parse parses flags with a set that prints its own help.
func parse(fs *flag.FlagSet, args []string, stderr io.Writer) error {
	fs.SetOutput(stderr)
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("%w: unexpected argument %q", errUsage, fs.Arg(0))
	}
	return nil
}
