package main

import (
	"io"
	"os"
	"strconv"
)

// terminalWidth returns the columns of the terminal: those of COLUMNS, as for other programs, else the terminal's
// own. It returns 0 if w is not a terminal.
func terminalWidth(w io.Writer, getenv func(string) string) int {
	if n, err := strconv.Atoi(getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	if f, ok := w.(*os.File); ok && isTerminal(w) {
		return columnsOf(f.Fd())
	}
	return 0
}
