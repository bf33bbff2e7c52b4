package app_test

import (
	"bytes"
	"net"
	"net/http"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"
	"time"
)

// heap is how many bytes the objects of the heap take.
func heap() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// peakOf is how far the heap grows while f runs.
func peakOf(f func()) uint64 {
	runtime.GC()
	before, peak := heap(), uint64(0)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for tick := time.NewTicker(time.Millisecond); ; {
			select {
			case <-stop:
				tick.Stop()
				return
			case <-tick.C:
				peak = max(peak, heap())
			}
		}
	}()
	f()
	close(stop)
	<-stopped
	return max(peak, before) - before
}

// TestMemory is what a provider without measure can make the gateway hold: a
// reply's bound and the room to grow to it, an event's bound, or next to
// nothing. It runs alone, for it looks at the whole process.
func TestMemory(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(20))
	filler := bytes.Repeat([]byte{'x'}, 64<<10)
	tests := []struct {
		name   string
		stream bool
		script func(c *net.TCPConn)
		most   uint64 // MiB
		total  string // time for all of it
	}{
		{"reply of 64 MiB", false, func(c *net.TCPConn) { say(c, jsonHead+"Content-Length: %d\r\n\r\n", 64<<20); repeat(c, filler) }, 224, "20s"},
		{"reply without end", false, func(c *net.TCPConn) { say(c, jsonHead+"\r\n"); repeat(c, filler) }, 224, "20s"},
		{"line without end", true, func(c *net.TCPConn) { say(c, streamHead+"data: "); repeat(c, filler) }, 32, "20s"},
		{"header without end", false, func(c *net.TCPConn) { say(c, "HTTP/1.1 200 OK\r\nX: "); repeat(c, filler) }, 16, "20s"},
		{"chunk size without end", false, func(c *net.TCPConn) { say(c, chunkHead); repeat(c, bytes.Repeat([]byte("0"), 1000)) }, 16, "20s"},
		{"error page without end", false, func(c *net.TCPConn) { say(c, "HTTP/1.1 500 Oh\r\n\r\n"); repeat(c, filler) }, 16, "20s"},
		{"events without end", true, func(c *net.TCPConn) {
			say(c, streamHead+piece)
			repeat(c, bytes.Repeat([]byte("data: {}\n\n"), 1000))
		}, 16, "700ms"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			url := rawProvider(t, test.script)
			h := open(t, setup{yaml: hasty(housed(url), "15s", test.total)})
			accept := "application/json"
			if test.stream {
				accept = "text/event-stream"
			}
			peak := peakOf(func() {
				if r := h.chat("house/m", "Accept", accept); r.status == http.StatusOK && !strings.Contains(r.body, "event: error") {
					t.Errorf("status %d: %.200s", r.status, r.body)
				}
			}) >> 20
			t.Logf("%d MiB", peak)
			if peak > test.most {
				t.Errorf("the heap grew by %d MiB, want at most %d", peak, test.most)
			}
		})
	}
}
