package mcp

import (
	"testing"
	"testing/synctest"
	"time"

	"weir/internal/must"
)

// TestNotificationsBeyondBoundWait counts the notifications of an endless stream that are read in ten seconds.
func TestNotificationsBeyondBoundWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n, begun, read := &notes{client: &Client{o: Options{Now: time.Now}}}, time.Now(), 0
		for time.Since(begun) < 10*time.Second {
			must.Do(t, n.pause(t.Context()))
			read++
		}
		if want := 10 * (maxEvents + 1); read > want+1 || read < want/2 {
			t.Errorf("got %d notifications in ten seconds, want about %d", read, want)
		}
	})
}
