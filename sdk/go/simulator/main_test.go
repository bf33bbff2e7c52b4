// Package simulator_test sends requests to the simulator with the vendors' SDKs for Go.
package simulator_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"go.uber.org/goleak"

	"weir/internal/dialect/registry/registrytest"
	"weir/internal/simulator"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// eachWay runs a check at a simulator with the key, reached by a socket and in
// memory.
func eachWay(t *testing.T, key string, check func(t *testing.T, s *simulator.Server, base string, rt http.RoundTripper)) {
	t.Helper()
	for _, name := range []string{"socket", "memory"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := simulator.Options{Dialects: registrytest.All()}
			if key != "" {
				o.APIKeys = []string{key}
			}
			s := simulator.New(o)
			t.Cleanup(s.Close)
			if name == "memory" {
				check(t, s, "http://demo", s.RoundTripper())
				return
			}
			ts := httptest.NewServer(s)
			tr := &http.Transport{DisableCompression: true}
			t.Cleanup(func() {
				tr.CloseIdleConnections()
				s.Close()
				ts.Close()
			})
			check(t, s, ts.URL, tr)
		})
	}
}

// settled returns the newest record of the ledger, once it has ended.
func settled(t *testing.T, s *simulator.Server) simulator.Record {
	t.Helper()
	var last simulator.Record
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		for r := range s.Ledger().Records(0) {
			last = r
		}
		if !last.Ended.IsZero() {
			return last
		}
	}
	t.Fatalf("the newest record has not ended: %+v", last)
	return last
}
