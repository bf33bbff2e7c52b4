// Package worktest measures what decoders take of inputs: memory and processor time by byte.
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

// What a decoder may take for an input of n bytes: n times the one and the other on top.
const (
	bytesPerByte = 1 << 10
	bytesOnTop   = 2 << 20
	timePerByte  = 10 * time.Microsecond // instrumented, on a busy machine
	timeOnTop    = 50 * time.Millisecond
)

// An input is grown to small bytes and to times as much. The large one may take most times
// what the small one takes, and what is on top; in quadratic time it would take times².
const (
	small = 32 << 10
	times = 4
	most  = 2 * times
)

// tries is how often is measured what takes too much, since other work of the process counts,
// the garbage collector's among it.
const tries = 3

// oneIn is how many inputs there are for one that is grown while a target is fuzzed, since
// most of its time should go into finding inputs.
const oneIn = 16

// work is what one call takes: bytes allocated, and time of all processors.
type work struct {
	bytes int64
	time  time.Duration
}

// Check fails t where decode takes more memory or time of in than its bounds by byte, or
// more than in proportion of in grown, which has one of its arrays, its strings or the whole
// of it many times over. It calls decode many times, with bytes that decode must not keep.
// With the race detector, which has memory and time of its own, nothing is measured.
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

// bounded is what decode takes of in, and an error where it is too much.
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

// Grow is in with more in it, of about size bytes. Where it is JSON, that is the elements of
// one of its arrays or the content of one of its strings, as its hash decides; else the
// whole of it.
func Grow(in []byte, size int) []byte {
	if rawjson.Validate(in, maxDepth) == nil {
		if places := repeatable(nil, in, in); len(places) > 0 {
			return places[sum(in)%uint32(len(places))].times(in, size)
		}
	}
	return repeated(in, nil, size)
}

// maxDepth is how deep JSON may be nested that is grown inside.
const maxDepth = 100

// place is where in JSON something can be repeated, and what stands between.
type place struct {
	from, to  int
	separator string
}

// repeatable appends the places of v, which is a part of in that ends in its memory: arrays
// and strings that are not empty.
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

// repeated is one as often as it fits in size bytes, once at least.
func repeated(one, separator []byte, size int) []byte {
	out := append([]byte{}, one...)
	for len(out)+len(separator)+len(one) <= size {
		out = append(append(out, separator...), one...)
	}
	return out
}

// fuzzing tells a run that finds inputs from one that has those of the target alone.
func fuzzing() bool {
	f := flag.Lookup("test.fuzz")
	return f != nil && f.Value.String() != ""
}

func sum(in []byte) uint32 {
	h := fnv.New32a()
	_, _ = h.Write(in) // which never fails
	return h.Sum32()
}
