package telemetry

import (
	"maps"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"weir/internal/ledger"
)

// The classes of statuses, by the first digit.
const (
	firstClass = 2
	lastClass  = 5
)

// Route counts the requests at one route. Unused routes are not listed: the counters are created at the first request.
type Route struct {
	metrics  *Metrics
	pattern  string
	counters atomic.Pointer[routeCounters]
}

type routeCounters struct {
	classes [lastClass + 1]prometheus.Counter
	seconds prometheus.Observer
}

// Route returns the counters of a route. The pattern is one of a list in the program, never a path requested by a
// client.
func (m *Metrics) Route(pattern string) *Route {
	return &Route{metrics: m, pattern: pattern}
}

// resolve creates the counters; concurrent calls create the same ones.
func (r *Route) resolve() *routeCounters {
	c := &routeCounters{seconds: r.metrics.seconds.WithLabelValues(r.pattern)}
	for i := firstClass; i <= lastClass; i++ {
		c.classes[i] = r.metrics.requests.WithLabelValues(r.pattern, strconv.Itoa(i)+"xx")
	}
	r.counters.Store(c)
	return c
}

// Done counts a request answered with an HTTP status. trace is the id of its trace; empty for none.
func (r *Route) Done(status int, took time.Duration, trace string) {
	c := r.counters.Load()
	if c == nil {
		c = r.resolve()
	}
	c.classes[min(max(status/100, firstClass), lastClass)].Inc()
	observe(c.seconds, took, trace)
}

// observe counts a duration, with the trace as its exemplar if there is one.
func observe(o prometheus.Observer, took time.Duration, trace string) {
	seconds := max(took, 0).Seconds()
	if e, ok := o.(prometheus.ExemplarObserver); ok && trace != "" {
		e.ObserveWithExemplar(seconds, prometheus.Labels{"trace_id": trace})
		return
	}
	o.Observe(seconds)
}

// providerCounters count the attempts at one provider.
type providerCounters struct {
	first prometheus.Observer

	above, below, differs prometheus.Counter // of the provider's own cost
}

const numOutcomes = 6

// outcomes returns the outcomes that attempts of a running process can have.
func outcomes() [numOutcomes]ledger.Outcome {
	return [...]ledger.Outcome{
		ledger.OutcomeOK, ledger.OutcomeRefused, ledger.OutcomeRejected, ledger.OutcomeFailed, ledger.OutcomeCut,
		ledger.OutcomeClientGone,
	}
}

// provider returns the counters of a configured provider. They are created when its first attempt has ended, because a
// reload may add providers.
func (m *Metrics) provider(name string) *providerCounters {
	if p, ok := (*m.providers.Load())[name]; ok {
		return p
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if p, ok := (*m.providers.Load())[name]; ok {
		return p
	}
	p := &providerCounters{first: m.first.WithLabelValues(name)}
	p.above, p.below, p.differs = m.told.WithLabelValues(name, "above"), m.told.WithLabelValues(name, "below"),
		m.differs.WithLabelValues(name)
	all := maps.Clone(*m.providers.Load())
	all[name] = p
	m.providers.Store(&all)
	return p
}
