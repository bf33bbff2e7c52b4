package telemetry

import (
	"maps"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"weir/internal/ledger"
)

// classes are the classes of statuses, by the first digit.
var classes = [...]string{"", "1xx", "2xx", "3xx", "4xx", "5xx"}

// Route counts the requests at one route of the service.
type Route struct {
	classes [len(classes)]prometheus.Counter
	seconds prometheus.Observer
}

// Route is the counters of the route with that pattern, which is one of a list
// in the program, never a path that a client has asked for.
func (m *Metrics) Route(pattern string) *Route {
	r := &Route{seconds: m.seconds.WithLabelValues(pattern)}
	for i := 1; i < len(classes); i++ {
		r.classes[i] = m.requests.WithLabelValues(pattern, classes[i])
	}
	return r
}

// Done counts a request that was answered with that HTTP status.
func (r *Route) Done(status int, took time.Duration) {
	r.classes[min(max(status/100, 1), len(classes)-1)].Inc()
	r.seconds.Observe(max(took, 0).Seconds())
}

// providerCounters count the attempts at one provider.
type providerCounters struct {
	outcomes map[ledger.Outcome]prometheus.Counter
	first    prometheus.Observer
}

// outcomes are those that an attempt of a living process can have.
func outcomes() []ledger.Outcome {
	return []ledger.Outcome{
		ledger.OutcomeOK, ledger.OutcomeRefused, ledger.OutcomeRejected, ledger.OutcomeFailed, ledger.OutcomeCut, ledger.OutcomeClientGone,
	}
}

// provider is the counters of a configured provider. They are made when the
// first attempt at it has ended, for a reload may bring new ones.
func (m *Metrics) provider(name string) *providerCounters {
	if p, ok := (*m.providers.Load())[name]; ok {
		return p
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if p, ok := (*m.providers.Load())[name]; ok {
		return p
	}
	p := &providerCounters{outcomes: map[ledger.Outcome]prometheus.Counter{}, first: m.first.WithLabelValues(name)}
	for _, o := range outcomes() {
		p.outcomes[o] = m.attempts.WithLabelValues(name, string(o))
	}
	all := maps.Clone(*m.providers.Load())
	all[name] = p
	m.providers.Store(&all)
	return p
}

func (p *providerCounters) ended(s *ledger.Settlement) {
	if counter, ok := p.outcomes[s.Outcome]; ok {
		counter.Inc()
	}
	if s.FirstToken > 0 {
		p.first.Observe(s.FirstToken.Seconds())
	}
}
