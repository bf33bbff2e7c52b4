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
	logSpan   = time.Minute // of which a kind of lines has few
	linesTold = 5           // of a kind in a logSpan, before lines are left out
	// maxLineKinds bounds the kinds that are told apart in a logSpan. Of those beyond it,
	// lines with one message are one kind.
	maxLineKinds = 200
	maxKindValue = 100 // bytes of an attribute by which kinds are told apart
	lookAtLog    = time.Second
)

// boundedLog passes on the first few warnings and errors of a kind in a minute, and then how
// many it left out. The same holds for all lines about a single request, but for those of
// level debug. A kind has the same message and the same attributes, whatever the request.
type boundedLog struct {
	slog.Handler
	lines *logLines
	with  []slog.Attr // of every line
}

// logLines counts the lines of the minute.
type logLines struct {
	handler slog.Handler
	now     func() time.Time

	mu    sync.Mutex
	since time.Time
	kinds map[string]*lineKind
}

// lineKind is a kind of lines, and how many there were.
type lineKind struct {
	level         slog.Level
	message       string
	attrs         []slog.Attr
	told, leftOut int
}

func newBoundedLog(to slog.Handler, now func() time.Time) *boundedLog {
	return &boundedLog{Handler: to, lines: &logLines{handler: to, now: now, kinds: map[string]*lineKind{}}}
}

// Handle writes the line or counts it.
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

// WithAttrs is slog.Handler's.
func (b *boundedLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &boundedLog{b.Handler.WithAttrs(attrs), b.lines, slices.Concat(b.with, attrs)}
}

// WithGroup is slog.Handler's.
func (b *boundedLog) WithGroup(name string) slog.Handler {
	return &boundedLog{b.Handler.WithGroup(name), b.lines, b.with}
}

// kindOf is the kind of a line, and whether it is about a single request. What differs from
// request to request does not tell kinds apart.
func (b *boundedLog) kindOf(r *slog.Record) (k *lineKind, ofRequest bool) {
	k = &lineKind{level: r.Level, message: r.Message}
	add := func(a slog.Attr) bool {
		switch a.Key {
		case "request", "request_id":
			ofRequest = true
		case "path", "model", "session":
		case "err":
			if r.Level >= slog.LevelError { // it is ours, and no other line tells of it
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

// kindAttr is the beginning of the first line of an attribute's value.
func kindAttr(a slog.Attr) slog.Attr {
	text, _, _ := strings.Cut(a.Value.Resolve().String(), "\n")
	if len(text) > maxKindValue {
		text = strings.ToValidUTF8(text[:maxKindValue], "") + "…"
	}
	return slog.String(a.Key, text)
}

// id tells kinds apart.
func (k *lineKind) id() string {
	var id strings.Builder
	id.WriteString(k.level.String() + "\x00" + k.message)
	for _, a := range k.attrs {
		id.WriteString("\x00" + a.Key + "=" + a.Value.String())
	}
	return id.String()
}

// take counts a line of the kind, and reports whether it is to be written.
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

// sumUp writes how many lines of each kind were left out, once their minute is over or at
// the end: the same message, with left_out.
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

// run sums up after each minute, and when ctx ends.
func (l *logLines) run(ctx context.Context) {
	every := time.NewTicker(lookAtLog)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			_ = l.sumUp(ctx, true) // where a log cannot be written, nothing can be told
			return
		case <-every.C:
			_ = l.sumUp(ctx, false)
		}
	}
}
