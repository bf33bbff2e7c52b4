package faults_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"weir/internal/e2e/harness"
	"weir/internal/must"
)

// TestLogIsBounded has one key's requests fail again and again: the log has the first few, and the number of the
// others.
func TestLogIsBounded(t *testing.T) {
	t.Parallel()
	h, _ := harness.OpenSimulated(t)
	const all = 60
	for range all {
		h.Chat("house/chat:status=401")
	}
	must.Do(t, h.Stop())
	told, leftOut := 0, 0
	for line := range strings.Lines(h.Log.String()) {
		if !strings.Contains(line, "level=WARN") || !strings.Contains(line, "request failed") {
			continue
		}
		if !strings.Contains(line, " status=401") || !strings.Contains(line, " account=") || !strings.Contains(line, " provider=house ") {
			t.Errorf("got not all of account, provider and status in %s", line)
		}
		if n := regexp.MustCompile(`left_out=(\d+)`).FindStringSubmatch(line); n != nil {
			leftOut += must.Get(strconv.Atoi(n[1]))(t)
		} else {
			told++
		}
	}
	if told+leftOut != all || told > 20 {
		t.Errorf("got %d lines and %d left out, want 20 lines at most and %d in sum", told, leftOut, all)
	}
}
