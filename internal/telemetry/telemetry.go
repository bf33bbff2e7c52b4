// Package telemetry contains the gateway's metrics for Prometheus
// (https://prometheus.io/docs/instrumenting/exposition_formats/).
//
// The label sets are bounded: routes, classes of statuses, configured providers, outcomes, classes of tokens; and for
// models, accounts, keys and tags, MostSeries combinations. Accounts, keys and tags are labels only if Labels selects
// them.
//
// Counting allocates nothing, except for the first of a series and for exemplars.
package telemetry

import (
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"weir/internal/contentlog"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/stored"
)

// Metrics is the registry of one gateway, with its own metrics.
type Metrics struct {
	registry *prometheus.Registry

	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	attempts *attempts
	first    *prometheus.HistogramVec
	overhead prometheus.Histogram
	told     *prometheus.CounterVec
	differs  *prometheus.CounterVec
	notKept  *prometheus.CounterVec
	unlogged map[contentlog.Reason]prometheus.Counter
	counted  *prometheus.CounterVec
	tools    toolCalls
	refused  *refused
	leftOut  atomic.Int64 // tags and end users
	shed     [Reasons][Priorities]atomic.Uint64

	mu        sync.Mutex // guards changes of providers
	providers atomic.Pointer[map[string]*providerCounters]
}

// longBuckets are for the duration of a model's answer, shortBuckets for the gateway's own time; in seconds.
func longBuckets() []float64 {
	return []float64{.005, .025, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600}
}

func shortBuckets() []float64 {
	return []float64{.00005, .0001, .00025, .0005, .001, .0025, .005, .01, .025, .1, .5}
}

// New returns a registry for a version of the program.
func New(version string, labels Labels) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "weir_http_requests_total",
			Help: "Requests answered, by route and class of status; 4xx includes requests that clients abandoned.",
		}, []string{"route", "class"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "weir_http_request_duration_seconds",
			Help: "Time from a request's head to the end of its answer, by route.", Buckets: longBuckets(),
		}, []string{"route"}),
		attempts: newAttempts(labels), refused: newRefused(labels),
		first: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "weir_upstream_first_token_seconds",
			Help: "Time from an attempt's opening to the first piece of a stream.", Buckets: longBuckets(),
		}, []string{"provider"}),
		overhead: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "weir_gateway_overhead_seconds",
			Help: "Time from the end of a request's body to its answer's end, minus the time at the provider; for a " +
				"stream, only until the request is sent to the provider.", Buckets: shortBuckets(),
		}),
		told: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "weir_provider_cost_difference_nanousd_total",
			Help: "Difference between the cost that providers report and the cost by their prices, above or " +
				"below, in billionths of a US dollar.",
		}, []string{"provider", "sign"}),
		differs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "weir_provider_cost_differs_total",
			Help: "Attempts with a reported cost that differs by more than 1 % from the cost by price.",
		}, []string{"provider"}),
		notKept: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "weir_kept_refused_total",
			Help: "Replies for an Idempotency-Key and responses of the Responses API that were not stored, by reason.",
		}, []string{"kind", "reason"}),
	}
	m.providers.Store(&map[string]*providerCounters{})
	m.registry.MustRegister(m.requests, m.seconds, m.attempts, m.refused, m.first, m.overhead, m.told, m.differs,
		m.notKept,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	Counter(m, "weir_attribution_left_out_total", "Tags and end users in request bodies that exceed the bounds: "+
		"they are sent to the provider, but missing in reports.", m.leftOut.Load)
	m.tools = newToolCalls(m.registry)
	m.registerCounts()
	m.registerUnlogged()
	m.registerShed()
	m.registerBuild(version)
	return m
}

// registerCounts registers the counter of token counts that providers were asked for.
func (m *Metrics) registerCounts() {
	m.counted = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "weir_token_counts_total",
		Help: "Requests near a budget's end with a token count requested from the provider, by outcome.",
	}, []string{"provider", "outcome"})
	m.registry.MustRegister(m.counted)
}

// registerUnlogged registers a counter for each reason why content is not logged.
func (m *Metrics) registerUnlogged() {
	all := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "weir_content_dropped_total",
		Help: "Requests whose content is not logged although their account has that switched on, by reason.",
	}, []string{"reason"})
	m.registry.MustRegister(all)
	m.unlogged = map[contentlog.Reason]prometheus.Counter{}
	for _, why := range contentlog.Reasons() {
		m.unlogged[why] = all.WithLabelValues(string(why))
	}
}

func (m *Metrics) registerShed() {
	for r := range Reasons {
		for p := range Priorities {
			if r == NotShed {
				continue
			}
			m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
				Name: "weir_shed_total", Help: "Requests that were refused because the gateway is overloaded.",
				ConstLabels: prometheus.Labels{"reason": r.String(), "priority": p.String()},
			}, func() float64 { return float64(m.shed[r][p].Load()) }))
		}
	}
}

func (m *Metrics) registerBuild(version string) {
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "weir_build_info", Help: "1, with the version of the program and of Go.",
		ConstLabels: prometheus.Labels{"version": version, "goversion": runtime.Version()},
	})
	build.Set(1)
	m.registry.MustRegister(build)
}

// scrapes bounds the concurrent scrapes, and scrapeTimeout their duration.
const (
	scrapes       = 4
	scrapeTimeout = 10 * time.Second
)

// Handler serves all registered metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		MaxRequestsInFlight: scrapes, Timeout: scrapeTimeout, EnableOpenMetrics: true,
	})
}

// Gauge registers a number that may rise and fall, and that is read at each scrape. The name follows Prometheus' rules,
// with its unit at the end.
func Gauge[N int | int64 | float64](m *Metrics, name, help string, now func() N) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help},
		func() float64 { return float64(now()) }))
}

// Flag registers a gauge that is 1 while now returns true, and 0 otherwise.
func (m *Metrics) Flag(name, help string, now func() bool) {
	Gauge(m, name, help, func() int {
		if now() {
			return 1
		}
		return 0
	})
}

// Counter registers a number that only rises, and that is read at each scrape. Its name ends with _total.
func Counter[N int | int64](m *Metrics, name, help string, now func() N) {
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help},
		func() float64 { return float64(now()) }))
}

// GaugeBy registers a gauge with one label. At each scrape, now reports its values, which must be bounded in number.
func (m *Metrics) GaugeBy(name, label, help string, now func(tell func(value string, n float64))) {
	m.registry.MustRegister(&family{prometheus.NewDesc(name, help, []string{label}, nil), now})
}

// family is the collector of GaugeBy.
type family struct {
	desc *prometheus.Desc
	now  func(tell func(value string, n float64))
}

// Describe implements prometheus.Collector.
func (f *family) Describe(to chan<- *prometheus.Desc) { to <- f.desc }

// Collect implements prometheus.Collector.
func (f *family) Collect(to chan<- prometheus.Metric) {
	f.now(func(value string, n float64) {
		to <- prometheus.MustNewConstMetric(f.desc, prometheus.GaugeValue, n, value)
	})
}

// Overhead counts the gateway's own time for one request.
func (m *Metrics) Overhead(d time.Duration) { m.overhead.Observe(max(d, 0).Seconds()) }

// LeftOut counts tags and end users in request bodies that exceed the bounds.
func (m *Metrics) LeftOut(n int) { m.leftOut.Add(int64(n)) }

// NotKept counts a reply or response that was not stored for a client.
func (m *Metrics) NotKept(kind stored.Kind, why stored.Refusal) {
	m.notKept.WithLabelValues(string(kind), string(why)).Inc()
}

// ContentDropped counts a request whose content is not logged although its account has that switched on.
func (m *Metrics) ContentDropped(why contentlog.Reason) { m.unlogged[why].Inc() }

// Refused counts a request that got an error without an attempt at a provider.
func (m *Metrics) Refused(reason llm.Code, by Caller) { m.refused.add(reason, &by) }

// Counted counts a token count that was requested from a provider; done is false if it failed.
func (m *Metrics) Counted(provider string, done bool) {
	outcome := "failed"
	if done {
		outcome = "counted"
	}
	m.counted.WithLabelValues(provider, outcome).Inc()
}

// Ended describes an attempt that has ended.
type Ended struct {
	Attempt *ledger.Attempt
	Caller
	Trace string // id of its trace; empty for none
}

// Attempt counts an ended attempt; the cost is nil without a price.
func (m *Metrics) Attempt(e Ended, s *ledger.Settlement, cost *llm.Money) {
	m.attempts.of(&e, s).add(s, cost)
	p := m.provider(e.Attempt.Provider) // which has counters of its cost from its first attempt on
	if s.FirstToken > 0 {
		observe(p.first, s.FirstToken, e.Trace)
	}
}

// ProviderCost counts the difference between a provider's own cost of an attempt and the cost computed by its price.
func (m *Metrics) ProviderCost(provider string, difference, computed llm.Money) {
	p := m.provider(provider)
	if difference > 0 {
		p.above.Add(float64(difference))
	} else {
		p.below.Add(float64(-difference))
	}
	if max(difference, -difference) > computed/100 {
		p.differs.Inc()
	}
}
