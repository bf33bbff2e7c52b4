package simulator_test

import (
	"bytes"
	"io"
	"net/http"
	"testing"

	"weir/internal/dialect/registry"
	"weir/internal/simulator"
)

// The simulator is the upstream of load tests, so the plain path must cost
// little beside net/http itself.
func BenchmarkServe(b *testing.B) {
	for name, body := range map[string]string{"whole": whole("chat"), "stream": stream("chat")} {
		b.Run(name, func(b *testing.B) {
			s := simulator.New(simulator.Options{Dialects: registry.All(), MaxRecords: 10000})
			defer s.Close()
			w := &discard{header: http.Header{}}
			src := []byte(body)
			r := bytes.NewReader(src)
			req, err := http.NewRequest(http.MethodPost, "http://x/v1/chat/completions", nil)
			if err != nil {
				b.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer some-key")
			req.Header.Set("X-Client-Request-Id", "attempt")
			req.Body = io.NopCloser(r)
			b.ReportAllocs()
			for b.Loop() {
				r.Reset(src)
				clear(w.header)
				s.ServeHTTP(w, req)
			}
		})
	}
}

// discard is a response that nobody reads.
type discard struct{ header http.Header }

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(b []byte) (int, error) { return len(b), nil }
func (d *discard) WriteHeader(int)             {}
func (d *discard) Flush()                      {}
