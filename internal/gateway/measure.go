package gateway

import (
	"time"

	"weir/internal/telemetry"
)

// statusGone is the status in metrics of a request after its client has left, as in nginx.
const statusGone = 499

// measured holds the metrics of a request.
type measured struct {
	route  *telemetry.Route
	status int // status of the answer; 0 means 200
	// These times give the gateway's own share of a request's duration. Pauses between attempts and repeated attempts
	// count as the provider's.
	ask time.Time // the first attempt was sent
	got time.Time // the provider's whole answer was received; zero for a stream
}

func (m *measured) asked(now time.Time) {
	if m.ask.IsZero() {
		m.ask = now
	}
}

// done counts the ended request.
func (m *measured) done(in *intake) {
	if m.status == 0 {
		m.status = 200
	}
	s := in.server
	now := s.now()
	m.route.Done(m.status, max(0, s.ledger.Now().Sub(in.started)), in.trace.ID())
	in.trace.End(m.status)
	if took, ok := m.overhead(in.read, now); ok {
		s.metrics.Overhead(took)
	}
}

// overhead returns the gateway's own share of the duration, if the body had been read at read and the answer ended now;
// ok is false if no provider was called.
func (m *measured) overhead(read, now time.Time) (d time.Duration, ok bool) {
	if m.ask.IsZero() {
		return 0, false
	}
	if d = m.ask.Sub(read); !m.got.IsZero() {
		d += now.Sub(m.got)
	}
	return d, true
}
