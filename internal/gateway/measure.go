package gateway

import (
	"time"

	"weir/internal/telemetry"
)

// statusGone is what a request counts as whose client left, after nginx's word
// for it.
const statusGone = 499

// measured is what the gateway counts of a request.
type measured struct {
	route  *telemetry.Route
	status int // of the answer; 0 for 200
	// The time of a request that its provider does not take. Pauses between attempts, and
	// attempts that are repeated, count as the provider's.
	read time.Time // the body was in
	ask  time.Time // the provider was asked first
	got  time.Time // a whole answer of it was in; zero for a stream
}

func (m *measured) asked(now time.Time) {
	if m.ask.IsZero() {
		m.ask = now
	}
}

// done counts the request, which has ended.
func (m *measured) done(s *Server, started time.Time) {
	if m.status == 0 {
		m.status = 200
	}
	now := s.now()
	m.route.Done(m.status, max(0, s.ledger.Now().Sub(started)))
	if took, ok := m.overhead(now); ok {
		s.metrics.Overhead(took)
	}
}

// overhead is how long the gateway took itself, when the answer ended now; not ok for a request
// that no provider was asked for.
func (m *measured) overhead(now time.Time) (d time.Duration, ok bool) {
	if m.ask.IsZero() {
		return 0, false
	}
	if d = m.ask.Sub(m.read); !m.got.IsZero() {
		d += now.Sub(m.got)
	}
	return d, true
}
