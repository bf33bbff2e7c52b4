// Package worktest measures the memory and processor time that decoders need per byte of input, and reports whether the
// race detector runs.
package worktest

import (
	"bytes"
	"flag"
	"fmt"
	"hash/fnv"
	"runtime"
	"testing"
	"time"

	"weir/internal/rawjson"
)

// A decoder may use, for an input of n bytes, n times the first value plus the second.
const (
	bytesPerByte = 1 << 10
	bytesOnTop   = 2 << 20
	timePerByte  = 10 * time.Microsecond // instrumented, on a busy machine
	timeOnTop    = 50 * time.Millisecond
)

// An input is grown to small bytes, and to times as many. The large one may need most times as much as the small one,
// plus the fixed allowance; with quadratic time it would need times² as much.
const (
	small = 32 << 10
	times = 4
	most  = 2 * times
)

// tries is how often an excessive measurement is repeated, because other work of the process counts, including the
// garbage collector's.
const tries = 3

// During fuzzing, only one in oneIn inputs is grown, because most of the time should be spent on finding inputs.
const oneIn = 16

// work is the cost of a call: bytes allocated, and time of all processors.
type work struct {
	bytes int64
	time  time.Duration
}

// Check fails t if decode needs more memory or time for in than its bounds per byte, or more than in proportion for in
// grown, with one of its arrays, its strings or the whole repeated many times. It calls decode many times, with bytes
// that decode must not retain. With the race detector, which uses memory and time of its own, it measures nothing.
func Check(t testing.TB, in []byte, decode func([]byte)) {
	t.Helper()
	if raced {
		decode(in)
		return
	}
	if err := exceeds(in, decode); err != nil {
		t.Errorf("%.2000q: %v", in, err)
	}
}

// NotRaced skips a test under the race detector that is sequential, or whose goroutines are those of another test: the
// detector would slow it down ten times and find nothing more. The run without the detector includes the test.
func NotRaced(t testing.TB) {
	t.Helper()
	if raced {
		t.Skip("sequential, or like another test: the race detector would find nothing more")
	}
}

// Repeats returns n, or a quarter of it under the race detector, which slows a test down ten times: the run without the
// detector repeats it n times.
func Repeats(n int) int {
	if raced {
		return max(1, n/4)
	}
	return n
}

func exceeds(in []byte, decode func([]byte)) error {
	var err error
	for range tries {
		if err = exceedsOnce(in, decode); err == nil {
			return nil
		}
	}
	return err
}

func exceedsOnce(in []byte, decode func([]byte)) error {
	if _, err := bounded(in, decode); err != nil || len(in) == 0 || fuzzing() && sum(in)%oneIn != 0 {
		return err
	}
	one, many := Grow(in, small), Grow(in, times*small)
	little, err := bounded(one, decode)
	if err != nil {
		return grown(one, err)
	}
	lot, err := bounded(many, decode)
	if err != nil {
		return grown(many, err)
	}
	if lot.bytes > most*little.bytes+bytesOnTop {
		return grown(many, fmt.Errorf("%d bytes of memory, %d for %d bytes", lot.bytes, little.bytes, len(one)))
	}
	if lot.time > most*little.time+timeOnTop {
		return grown(many, fmt.Errorf("%v, %v for %d bytes", lot.time, little.time, len(one)))
	}
	return nil
}

func grown(in []byte, err error) error {
	return fmt.Errorf("grown to %d bytes as %.100q…: %w", len(in), in, err)
}

// bounded returns the cost of decoding in, and an error if it is too high.
func bounded(in []byte, decode func([]byte)) (work, error) {
	w := measure(func() { decode(in) })
	if limit := int64(len(in))*bytesPerByte + bytesOnTop; w.bytes > limit {
		return w, fmt.Errorf("%d bytes of memory for %d, at most %d", w.bytes, len(in), limit)
	}
	if limit := time.Duration(len(in))*timePerByte + timeOnTop; w.time > limit {
		return w, fmt.Errorf("%v for %d bytes, at most %v", w.time, len(in), limit)
	}
	return w, nil
}

func measure(call func()) work {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := ProcessorTime()
	call()
	took := ProcessorTime() - began
	runtime.ReadMemStats(&after)
	return work{int64(after.TotalAlloc - before.TotalAlloc), took}
}

// Grow returns in with repeated content, of about size bytes. If in is JSON, the elements of one of its arrays or the
// content of one of its strings are repeated, chosen by its hash; else the whole.
func Grow(in []byte, size int) []byte {
	if rawjson.Validate(in, maxDepth) == nil {
		if places := repeatable(nil, in, in); len(places) > 0 {
			return places[sum(in)%uint32(len(places))].times(in, size)
		}
	}
	return repeated(in, nil, size)
}

// maxDepth bounds the nesting of JSON that is grown inside.
const maxDepth = 100

// place is a repeatable part of JSON, with its separator.
type place struct {
	from, to  int
	separator string
}

// repeatable appends the places of v, which is a part of in and shares the end of its memory: arrays and strings that
// are not empty.
func repeatable(dst []place, in, v []byte) []place {
	switch rawjson.KindOf(v) {
	case rawjson.Array:
		dst = appendInner(dst, in, v, ",")
		for _, e := range rawjson.Elements(v) {
			dst = repeatable(dst, in, e)
		}
	case rawjson.Object:
		for m := range rawjson.Members(v) {
			dst = repeatable(dst, in, m.Value)
		}
	case rawjson.String:
		dst = appendInner(dst, in, v, "")
	}
	return dst
}

func appendInner(dst []place, in, v []byte, separator string) []place {
	v = bytes.TrimSpace(v)
	inner := v[1 : len(v)-1]
	if len(bytes.TrimSpace(inner)) == 0 {
		return dst
	}
	from := cap(in) - cap(inner)
	return append(dst, place{from, from + len(inner), separator})
}

func (p *place) times(in []byte, size int) []byte {
	inner := in[p.from:p.to]
	out := append([]byte{}, in[:p.from]...)
	out = append(out, repeated(inner, []byte(p.separator), max(size-len(in), len(inner)))...)
	return append(out, in[p.to:]...)
}

// repeated returns one as often as it fits in size bytes, and at least once.
func repeated(one, separator []byte, size int) []byte {
	out := append([]byte{}, one...)
	for len(out)+len(separator)+len(one) <= size {
		out = append(append(out, separator...), one...)
	}
	return out
}

// fuzzing reports whether the run searches for new inputs, and not only runs those of the target.
func fuzzing() bool {
	f := flag.Lookup("test.fuzz")
	return f != nil && f.Value.String() != ""
}

func sum(in []byte) uint32 {
	h := fnv.New32a()
	_, _ = h.Write(in) // never fails
	return h.Sum32()
}
