package app

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	logSpan   = time.Minute // after it, lines of a kind are counted anew
	linesTold = 5           // lines of a kind that are written per logSpan
	// maxLineKinds bounds the kinds that are distinguished per logSpan. Beyond it, lines with the same message form
	// one kind.
	maxLineKinds = 200
	maxKindValue = 100 // bytes of an attribute that distinguish kinds
	lookAtLog    = time.Second
)

// boundedLog writes the first few warnings and errors of each kind per minute, and then the number of lines that it
// left out. The same applies to all lines about a single request, except those of level debug. Lines of one kind have
// the same message and the same attributes, for any request.
type boundedLog struct {
	slog.Handler
	lines *logLines
	with  []slog.Attr // attributes of every line
}

// logLines counts the lines of the current minute.
type logLines struct {
	handler slog.Handler
	now     func() time.Time

	mu    sync.Mutex
	since time.Time
	kinds map[string]*lineKind
}

// lineKind holds a kind of lines and their counts.
type lineKind struct {
	level         slog.Level
	message       string
	attrs         []slog.Attr
	told, leftOut int
}

func newBoundedLog(to slog.Handler, now func() time.Time) *boundedLog {
	return &boundedLog{Handler: to, lines: &logLines{handler: to, now: now, kinds: map[string]*lineKind{}}}
}

// Handle writes the line, or only counts it.
func (b *boundedLog) Handle(ctx context.Context, r slog.Record) error {
	if r.Level < slog.LevelInfo {
		return b.Handler.Handle(ctx, r)
	}
	kind, ofRequest := b.kindOf(&r)
	if r.Level < slog.LevelWarn && !ofRequest {
		return b.Handler.Handle(ctx, r)
	}
	err := b.lines.sumUp(ctx, false)
	if b.lines.take(kind) {
		err = errors.Join(err, b.Handler.Handle(ctx, r))
	}
	return err
}

// WithAttrs implements slog.Handler.
func (b *boundedLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &boundedLog{b.Handler.WithAttrs(attrs), b.lines, slices.Concat(b.with, attrs)}
}

// WithGroup implements slog.Handler.
func (b *boundedLog) WithGroup(name string) slog.Handler {
	return &boundedLog{b.Handler.WithGroup(name), b.lines, b.with}
}

// kindOf returns the kind of a line, and whether it is about a single request. Attributes that differ from request to
// request do not distinguish kinds.
func (b *boundedLog) kindOf(r *slog.Record) (k *lineKind, ofRequest bool) {
	k = &lineKind{level: r.Level, message: r.Message}
	add := func(a slog.Attr) bool {
		switch a.Key {
		case "request", "request_id":
			ofRequest = true
		case "path", "model", "session":
		case "err":
			if r.Level >= slog.LevelError { // our own fault, which no other line reports
				k.attrs = append(k.attrs, kindAttr(a))
			}
		default:
			k.attrs = append(k.attrs, kindAttr(a))
		}
		return true
	}
	for _, a := range b.with {
		add(a)
	}
	r.Attrs(add)
	return k, ofRequest
}

// kindAttr shortens an attribute's value to the start of its first line.
func kindAttr(a slog.Attr) slog.Attr {
	text, _, _ := strings.Cut(a.Value.Resolve().String(), "\n")
	if len(text) > maxKindValue {
		text = strings.ToValidUTF8(text[:maxKindValue], "") + "…"
	}
	return slog.String(a.Key, text)
}

// id identifies the kind.
func (k *lineKind) id() string {
	var id strings.Builder
	id.WriteString(k.level.String() + "\x00" + k.message)
	for _, a := range k.attrs {
		id.WriteString("\x00" + a.Key + "=" + a.Value.String())
	}
	return id.String()
}

// take counts a line of the kind, and reports whether to write it.
func (l *logLines) take(kind *lineKind) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.kinds) == 0 {
		l.since = l.now()
	}
	id := kind.id()
	if l.kinds[id] == nil && len(l.kinds) >= maxLineKinds {
		kind.attrs = nil
		id = kind.id()
	}
	k := l.kinds[id]
	if k == nil {
		k = kind
		l.kinds[id] = k
	}
	if k.told == linesTold {
		k.leftOut++
		return false
	}
	k.told++
	return true
}

// sumUp logs how many lines of each kind were left out, when their minute or the process ends: the same message, with
// left_out.
func (l *logLines) sumUp(ctx context.Context, end bool) (err error) {
	l.mu.Lock()
	now, since, kinds := l.now(), l.since, l.kinds
	if len(kinds) == 0 || !end && now.Sub(since) < logSpan {
		l.mu.Unlock()
		return nil
	}
	l.kinds = map[string]*lineKind{}
	l.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(kinds)) {
		k := kinds[id]
		if k.leftOut == 0 {
			continue
		}
		r := slog.NewRecord(now, k.level, k.message, 0)
		r.AddAttrs(slog.Int("left_out", k.leftOut), slog.Time("since", since))
		r.AddAttrs(k.attrs...)
		if l.handler.Enabled(ctx, k.level) {
			err = errors.Join(err, l.handler.Handle(ctx, r))
		}
	}
	return err
}

// run calls sumUp after each minute, and when ctx ends.
func (l *logLines) run(ctx context.Context) {
	every := time.NewTicker(lookAtLog)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			_ = l.sumUp(ctx, true) // an error of the log itself cannot be logged
			return
		case <-every.C:
			_ = l.sumUp(ctx, false)
		}
	}
}
