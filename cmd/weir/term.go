package main

import (
	"io"
	"os"
	"strconv"
)

// terminalWidth is how many columns a person's terminal has: those of COLUMNS,
// as for other programs, else the terminal's own. It is 0 where there is none,
// and a program reads.
func terminalWidth(w io.Writer, getenv func(string) string) int {
	if n, err := strconv.Atoi(getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	if f, ok := w.(*os.File); ok && isTerminal(w) {
		return columnsOf(f.Fd())
	}
	return 0
}
