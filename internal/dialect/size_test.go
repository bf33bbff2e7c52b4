package dialect_test

import (
	"runtime"
	"strings"
	"testing"

	"weir/internal/dialect"
	"weir/internal/llm"
)

// TestEncodersReportTheirMemory checks that an encoder reports the memory that it retains: for a long answer at most
// four times the reported bytes, because the gateway counts these.
func TestEncodersReportTheirMemory(t *testing.T) {
	const (
		encoders = 16
		pieces   = 64
		free     = 16 << 10 // bytes that an encoder need not report
	)
	var encoding []dialect.Encoder
	for _, d := range every() {
		if d.NewEncoder == nil {
			continue
		}
		for _, kind := range []llm.EventKind{llm.EventText, llm.EventReasoning, llm.EventRefusal, llm.EventToolCall, llm.EventOther} {
			encoding = nil
			before := alive()
			for range encoders {
				e := d.NewEncoder(llm.Meta{ID: "a", Model: "m"})
				encoding = append(encoding, e)
				for i := range pieces {
					e.Append(nil, longPiece(kind, i))
				}
			}
			kept := (alive() - before) / encoders
			told := 0
			if s, ok := encoding[0].(dialect.Sized); ok {
				told = s.Size()
			}
			if kept > int64(4*told+free) {
				t.Errorf("%s, events of kind %d: %d bytes are retained of an answer, and %d are reported", d.Name, kind, kept, told)
			}
			runtime.KeepAlive(encoding)
		}
	}
}

// longPiece builds the i-th piece of an answer, of 2 KiB, with its own call.
func longPiece(kind llm.EventKind, i int) *llm.Event {
	long := strings.Repeat(string(rune('a'+i%26)), 2<<10)
	e := &llm.Event{Kind: kind, Text: long}
	switch kind {
	case llm.EventToolCall:
		e.Tool = llm.ToolDelta{Index: i, ID: long, Name: long}
	case llm.EventOther:
		e.Text, e.Media = "", &llm.Media{MIME: "image/png", Data: long}
	}
	return e
}

// alive returns the number of bytes in use after a garbage collection.
func alive() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
