package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// meter tells how far a long command is: a line that it writes over.
type meter struct {
	w     io.Writer
	what  string
	last  time.Time
	shown bool
}

const (
	barWidth = 30
	barEvery = 250 * time.Millisecond
)

func newBar(w io.Writer, what string) *meter { return &meter{w: w, what: what} }

// show tells that done of total are done.
func (b *meter) show(done, total int64) {
	now := time.Now()
	if now.Sub(b.last) < barEvery && done < total {
		return
	}
	b.last, b.shown = now, true
	filled := int(min(done, total) * barWidth / max(1, total))
	fmt.Fprintf(b.w, "\r[%s%s] %3d%% %d of %d %s ", strings.Repeat("=", filled), strings.Repeat(" ", barWidth-filled), done*100/max(1, total), done, total, b.what)
}

// done ends the line.
func (b *meter) done() {
	if b.shown {
		fmt.Fprintln(b.w)
	}
}
