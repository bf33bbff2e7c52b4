package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"weir/internal/must"
)

// logRig is a bounded log with a manual clock.
type logRig struct {
	*slog.Logger
	t     *testing.T
	buf   bytes.Buffer
	now   time.Time
	lines *logLines
}

func newLogRig(t *testing.T) *logRig {
	r := &logRig{t: t, now: time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)}
	without := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	inner := slog.NewTextHandler(&r.buf, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: without})
	bounded := newBoundedLog(inner, func() time.Time { return r.now })
	r.Logger, r.lines = slog.New(bounded), bounded.lines
	return r
}

// fail logs a failed request of the account.
func (r *logRig) fail(request int, account string) {
	r.Warn("request failed", "request", request, "path", "/v1/chat", "code", "PROVIDER_ERROR", "account", account,
		"model", fmt.Sprint("m", request), "provider", "house", "status", 500, "err", fmt.Errorf("attempt %d failed", request))
}

// take returns the lines written since the last call.
func (r *logRig) take() []string {
	defer r.buf.Reset()
	return strings.Split(strings.TrimSuffix(r.buf.String(), "\n"), "\n")
}

// leftOut returns the number of omitted lines in a summary.
func leftOut(t *testing.T, line string) int {
	t.Helper()
	n := regexp.MustCompile(`left_out=(\d+)`).FindStringSubmatch(line)
	if n == nil {
		return 0
	}
	return must.Get(strconv.Atoi(n[1]))(t)
}

// TestRepeatedLinesAreSummedUp logs 12,044 failures within 8 seconds, and one a minute later.
func TestRepeatedLinesAreSummedUp(t *testing.T) {
	t.Parallel()
	r := newLogRig(t)
	for i := range 12_044 {
		r.now = r.now.Add(8 * time.Second / 12_044)
		r.fail(i, "a")
	}
	got := r.take()
	if len(got) != linesTold || !strings.Contains(got[4], "request=4 ") || !strings.Contains(got[4], "attempt 4 failed") {
		t.Fatalf("got %d lines, the last %q, want the first %d", len(got), got[len(got)-1], linesTold)
	}
	r.now = r.now.Add(time.Minute)
	r.fail(99_999, "a")
	want := []string{
		`level=WARN msg="request failed" left_out=12039 ` +
			`since=2026-11-23T12:00:00.000Z code=PROVIDER_ERROR account=a provider=house status=500`,
		`level=WARN msg="request failed" request=99999 path=/v1/chat code=PROVIDER_ERROR account=a model=m99999 ` +
			`provider=house status=500 err="attempt 99999 failed"`,
	}
	must.Equal(t, r.take(), want, "lines")
	must.Do(t, r.lines.sumUp(t.Context(), true))
	must.Equal(t, r.take(), []string{""}, "lines at the end")
}

// TestSomeLinesAreUnbounded checks lines that are not bounded, or not together.
func TestSomeLinesAreUnbounded(t *testing.T) {
	t.Parallel()
	for name, say := range map[string]func(r *logRig, i int){
		"accounts":  func(r *logRig, i int) { r.fail(i, fmt.Sprint("a", i)) },
		"codes":     func(r *logRig, i int) { r.Warn("request failed", "request", i, "code", fmt.Sprint("C", i)) },
		"statuses":  func(r *logRig, i int) { r.Warn("request failed", "request", i, "status", i) },
		"providers": func(r *logRig, i int) { r.Warn("request failed", "request", i, "provider", fmt.Sprint("p", i)) },
		"causes of ours": func(r *logRig, i int) {
			r.Error("request failed", "err", errors.New(fmt.Sprint("panic ", i, "\nat x")))
		},
		"by With":             func(r *logRig, i int) { r.With("account", i).Warn("request failed", "request", i) },
		"debug":               func(r *logRig, i int) { r.Debug("request failed", "request", 1) },
		"info of no request":  func(r *logRig, i int) { r.Info("listening", "n", 1) },
		"warnings of the set": func(r *logRig, i int) { r.Warn("configuration", "warning", i) },
	} {
		r := newLogRig(t)
		for i := range 50 {
			say(r, i)
		}
		must.Do(t, r.lines.sumUp(t.Context(), true))
		if got := r.take(); len(got) != 50 {
			t.Errorf("%s: got %d lines, want 50", name, len(got))
		}
	}
}

// TestSimilarLinesAreOneKind checks lines of one kind.
func TestSimilarLinesAreOneKind(t *testing.T) {
	t.Parallel()
	for name, say := range map[string]func(r *logRig, i int){
		"requests": func(r *logRig, i int) { r.fail(i, "a") },
		"info":     func(r *logRig, i int) { r.Info("not kept", "request", i, "account", "a") },
		"errors":   func(r *logRig, i int) { r.Error("not read", "err", errors.New("disk\n"+fmt.Sprint(i))) },
		"long":     func(r *logRig, i int) { r.Error("not read", "err", strings.Repeat("x", 200)+fmt.Sprint(i)) },
		"by With":  func(r *logRig, i int) { r.With("request", i).Warn("request failed", "account", "a") },
		"group":    func(r *logRig, i int) { r.WithGroup("g").Warn("request failed", "request", i) },
	} {
		r := newLogRig(t)
		for i := range 50 {
			say(r, i)
		}
		must.Do(t, r.lines.sumUp(t.Context(), true))
		if got := r.take(); len(got) != linesTold+1 || leftOut(t, got[linesTold]) != 50-linesTold {
			t.Errorf("%s: got %q, want %d lines and a sum", name, got, linesTold)
		}
	}
}

// TestLineKindsAreBounded has 5,000 accounts fail: the separate kinds are bounded, and every line is written or
// counted.
func TestLineKindsAreBounded(t *testing.T) {
	t.Parallel()
	r := newLogRig(t)
	const accounts, each = 5_000, 7
	for i := range accounts * each {
		r.fail(i, fmt.Sprint("account-", i%accounts))
	}
	r.Error("the journal failed", "err", errors.New("no space"))
	if got := len(r.lines.kinds); got > maxLineKinds+2 {
		t.Errorf("got %d kinds, want %d at most", got, maxLineKinds+2)
	}
	must.Do(t, r.lines.sumUp(t.Context(), true))
	got, told, left := r.take(), 0, 0
	for _, line := range got {
		if n := leftOut(t, line); n > 0 {
			left += n
		} else if strings.Contains(line, `msg="request failed"`) {
			told++
		}
	}
	if told+left != accounts*each || len(got) > (linesTold+1)*(maxLineKinds+2) {
		t.Errorf("got %d lines and %d left out in %d lines, want %d in sum", told, left, len(got), accounts*each)
	}
	if !strings.Contains(strings.Join(got, "\n"), "the journal failed") {
		t.Errorf("got no line of another message once there are %d kinds", maxLineKinds)
	}
}

// TestLogIsSummedUpInTime checks that a summary does not wait for another line.
func TestLogIsSummedUpInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := &lines{}
		bounded := newBoundedLog(slog.NewTextHandler(log, nil), time.Now)
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() { bounded.lines.run(ctx) })
		for range 100 {
			all.Go(func() { slog.New(bounded).Warn("request failed", "request", 1) })
		}
		time.Sleep(logSpan + 2*lookAtLog)
		log.mu.Lock()
		if got := strings.Count(log.buf.String(), "\n"); got != linesTold+1 || leftOut(t, log.buf.String()) != 95 {
			t.Errorf("got %s, want %d lines and a sum of 95", log.buf.String(), linesTold)
		}
		log.mu.Unlock()
		for range 6 {
			slog.New(bounded).Warn("request failed", "request", 1)
		}
		cancel()
		all.Wait()
		if got := strings.Count(log.buf.String(), "\n"); got != 2*(linesTold+1) {
			t.Errorf("got %d lines at the end, want %d", got, 2*(linesTold+1))
		}
	})
}
