//go:build unix

package provider_test

import (
	"context"
	"net"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"weir/internal/provider"
)

// The benchmarks put the plain client beside net/http's Transport, against a
// provider in another process:
//
//	go test -run '^$' -bench 'Whole|Piece|Held' -count 10 ./internal/provider | benchstat -col /transport -
//
// cpu-ns/op is the processor time of this process alone, the kernel's work in
// its calls included.

func BenchmarkWhole(b *testing.B) {
	base := startUpstream(b)
	for _, way := range transports {
		b.Run("transport="+way.name+"/at=once", func(b *testing.B) {
			p := way.provider(b, provider.Options{BaseURL: base + "/whole"})
			b.ReportAllocs()
			used := startClock(b)
			for b.Loop() {
				benchExchange(b, p)
			}
			used.report("op", b.N)
		})
		b.Run("transport="+way.name+"/at=64", func(b *testing.B) {
			p := way.provider(b, provider.Options{BaseURL: base + "/whole"})
			b.ReportAllocs()
			b.SetParallelism(64 / runtime.GOMAXPROCS(0))
			used := startClock(b)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					benchExchange(b, p)
				}
			})
			used.report("op", b.N)
		})
	}
}

// BenchmarkFloor is what no client can do without: a write and a read.
func BenchmarkFloor(b *testing.B) {
	address := strings.TrimPrefix(startUpstream(b), "http://")
	request := []byte("POST /whole/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 17\r\n\r\n{\"model\":\"small\"}")
	b.SetParallelism(64 / runtime.GOMAXPROCS(0))
	used := startClock(b)
	b.RunParallel(func(pb *testing.PB) {
		c, err := net.Dial("tcp", address)
		if err != nil {
			b.Error(err)
			return
		}
		defer func() { _ = c.Close() }()
		buf := make([]byte, 4<<10)
		for pb.Next() {
			if _, err := c.Write(request); err != nil {
				b.Error(err)
			}
			if _, err := c.Read(buf); err != nil {
				b.Error(err)
			}
		}
	})
	used.report("op", b.N)
}

// benchExchange makes one exchange for a client that could leave.
func benchExchange(b *testing.B, p *provider.Provider) {
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	if _, f := exchange(ctx, p, chat(false)); f != nil {
		b.Error(f)
	}
}

// BenchmarkPiece reads 200 streams, each with a piece every 10 ms: an op is a
// piece.
func BenchmarkPiece(b *testing.B) {
	base := startUpstream(b)
	for _, way := range transports {
		b.Run("transport="+way.name, func(b *testing.B) {
			const streams = 200
			each := b.N/streams + 1
			bodies := openStreams(b, way, base+"/stream", streams)
			b.ReportAllocs()
			used := startClock(b)
			var wg sync.WaitGroup
			for _, res := range bodies {
				wg.Go(func() {
					readBytes(b, res, each*len(benchPiece))
				})
			}
			wg.Wait()
			used.report("piece", each*streams)
		})
	}
}

// BenchmarkHeld holds 1,000 streams, each with somebody who waits for its next
// piece: an op is all of them.
func BenchmarkHeld(b *testing.B) {
	base := startUpstream(b)
	for _, way := range transports {
		b.Run("transport="+way.name, func(b *testing.B) {
			const streams = 1000
			for b.Loop() {
				before, goroutines := inUse(), runtime.NumGoroutine()
				ctx, cancel := context.WithCancel(b.Context())
				var wg sync.WaitGroup
				for _, res := range openStreams(b, way, base+"/hold", streams) {
					wg.Go(func() {
						readBytes(b, res, len(benchPiece))
						stop := context.AfterFunc(ctx, func() { _ = res.Body.Close() })
						defer stop()
						var next [1]byte
						_, _ = res.Body.Read(next[:])
					})
				}
				time.Sleep(100 * time.Millisecond)
				b.ReportMetric(float64(inUse()-before)/streams, "B/stream")
				b.ReportMetric(float64(runtime.NumGoroutine()-goroutines)/streams, "goroutines/stream")
				cancel()
				wg.Wait()
			}
		})
	}
}

func openStreams(b *testing.B, way transport, base string, n int) []*provider.Response {
	b.Helper()
	p := way.provider(b, provider.Options{BaseURL: base})
	all := make([]*provider.Response, n)
	for i := range all {
		res, err := p.Do(b.Context(), chat(true))
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = res.Body.Close() })
		all[i] = res
	}
	return all
}

func readBytes(b *testing.B, res *provider.Response, n int) {
	buf := make([]byte, 4<<10)
	for n > 0 {
		k, err := res.Body.Read(buf[:min(n, len(buf))])
		if err != nil {
			b.Error(err)
			return
		}
		n -= k
	}
}

// inUse is the memory of the heap and of stacks, after the garbage is gone.
func inUse() int64 {
	for range 3 { // pools let go of what they hold in two rounds
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// clock measures the processor time that this process uses.
type clock struct {
	b     *testing.B
	start time.Duration
}

func startClock(b *testing.B) clock {
	b.ResetTimer()
	return clock{b, processorTime(b)}
}

func (c clock) report(unit string, n int) {
	used := processorTime(c.b) - c.start
	c.b.ReportMetric(float64(used.Nanoseconds())/float64(n), "cpu-ns/"+unit)
}

func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
