package main

import (
	"fmt"
	"io"
	"time"
)

// progress returns a function that prints, on one line and at intervals, how far a long command is.
func progress(w io.Writer, what string) func(done, total int64) {
	var last time.Time
	return func(done, total int64) {
		if done >= total {
			fmt.Fprintf(w, "\r%d of %d %s\n", done, total, what)
		} else if time.Since(last) > time.Second/4 {
			last = time.Now()
			fmt.Fprintf(w, "\r%d of %d %s", done, total, what)
		}
	}
}
