package telemetry

import (
	"strings"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"weir/internal/llm"
	"weir/internal/refusal"
)

// refused counts refused requests, and is their collector.
type refused struct {
	labels Labels
	total  *prometheus.Desc

	mu  sync.RWMutex
	all map[refusedFor]*atomic.Int64
}

// refusedFor identifies a counter of refusals.
type refusedFor struct {
	reason llm.Code
	values
}

func newRefused(l Labels) *refused {
	r := &refused{labels: l, all: map[refusedFor]*atomic.Int64{}, total: prometheus.NewDesc("weir_refused_total",
		"Requests that got an error without an attempt at a provider, by error code.",
		append([]string{"reason"}, l.names(false)...), nil)}
	for _, code := range refusal.Reasons() { // they exist before their first refusal
		r.all[refusedFor{code, l.of(&Caller{})}] = new(atomic.Int64)
	}
	return r
}

// Describe implements prometheus.Collector.
func (r *refused) Describe(to chan<- *prometheus.Desc) { to <- r.total }

// Collect implements prometheus.Collector.
func (r *refused) Collect(to chan<- prometheus.Metric) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for of, n := range r.all {
		to <- prometheus.MustNewConstMetric(r.total, prometheus.CounterValue, float64(n.Load()),
			append([]string{string(of.reason)}, r.labels.list(&of.values, false)...)...)
	}
}

func (r *refused) add(reason llm.Code, by *Caller) { r.of(reason, by).Add(1) }

func (r *refused) of(reason llm.Code, by *Caller) *atomic.Int64 {
	f := refusedFor{reason, r.labels.of(by)}
	r.mu.RLock()
	n := r.all[f]
	r.mu.RUnlock()
	if n != nil {
		return n
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all[refusedFor{reason, r.labels.of(&Caller{})}] == nil {
		f.reason = llm.CodeInternal
	}
	if r.all[f] == nil && len(r.all) >= MostSeries {
		f.values = r.labels.other()
		clear(f.tags[:]) // refusals have none
	}
	if r.all[f] == nil {
		f.account, f.key, f.keyLabel = strings.Clone(f.account), strings.Clone(f.key), strings.Clone(f.keyLabel)
		r.all[f] = new(atomic.Int64)
	}
	return r.all[f]
}
