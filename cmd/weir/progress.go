package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

const (
	barWidth     = 30
	barEvery     = 100 * time.Millisecond // on a terminal
	barLineEvery = 10 * time.Second       // elsewhere
)

// progress shows how far a long command is: a bar on a terminal, a line every ten seconds elsewhere.
type progress struct {
	w        io.Writer
	what     string
	terminal bool
	last     time.Time
	shown    bool
}

func newProgress(w io.Writer, what string) *progress {
	return &progress{w: w, what: what, terminal: isTerminal(w), last: time.Now()}
}

// show reports that done of total are done.
func (p *progress) show(done, total int64) {
	every := barLineEvery
	if p.terminal {
		every = barEvery
	}
	now := time.Now()
	if now.Sub(p.last) < every || total <= 0 {
		return
	}
	p.last, p.shown = now, true
	filled := int(min(done, total) * barWidth / total)
	line := fmt.Sprintf("%3d%% %d of %d %s", done*100/total, done, total, p.what)
	if p.terminal {
		fmt.Fprintf(p.w, "\r[%s%s] %s ", strings.Repeat("=", filled), strings.Repeat(" ", barWidth-filled), line)
		return
	}
	fmt.Fprintln(p.w, line)
}

// done clears the bar.
func (p *progress) done() {
	if p.shown && p.terminal {
		fmt.Fprintf(p.w, "\r%s\r", strings.Repeat(" ", 79))
	}
}
