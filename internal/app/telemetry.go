package app

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"weir/internal/config"
	"weir/internal/front"
	"weir/internal/kept"
	"weir/internal/llm"
	"weir/internal/route"
	"weir/internal/telemetry"
)

// metricsPattern is where the metrics are.
const metricsPattern = "GET /metrics"

// measure registers what the parts of the gateway tell of themselves.
func (g *instance) measure() {
	m := g.metrics
	telemetry.Gauge(m, "weir_requests_in_flight", "Requests in the pipeline.", g.gateway.Capacity().InFlight)
	telemetry.Gauge(m, "weir_requests_waiting", "Requests that wait to come into the pipeline.", g.gateway.Capacity().Waiting)
	telemetry.Gauge(m, "weir_holds_open", "Attempts that are open in the ledger.", g.ledger.InFlight)
	telemetry.Gauge(m, "weir_ledger_lag_bytes", "Bytes of the journal that the database does not have yet.",
		func() int64 { lag, _ := g.ledger.Lag(); return lag })
	m.Flag("weir_ledger_database_up", "1 while the database takes the journal, else 0.",
		func() bool { _, err := g.ledger.Lag(); return err == nil })
	telemetry.Counter(m, "weir_ledger_unknown_total",
		"Attempts that were settled as unknown, for their process had died.", g.ledger.Unknown)
	telemetry.Counter(m, "weir_attribution_other_total", "Attempts that were added up without their end user, or the value of a tag, "+
		"for their day has too many.", g.store.Ledger.OtherAttempts)
	telemetry.Gauge(m, "weir_journal_lost_bytes",
		"Bytes of the journal that could not be read back since the start.", g.ledger.Lost)
	telemetry.Gauge(m, "weir_nodes_alive", "Nodes that share the database, this one too.", g.ledger.Budgets().Alive)
	telemetry.Gauge(m, "weir_clock_offset_seconds",
		"Seconds that the database's clock is ahead of this machine's; 0 where they agree to one.",
		func() float64 { return g.store.ClockOffset().Seconds() })
	m.Flag("weir_ratelimit_degraded", "1 while limits are kept in memory because Valkey does not answer, else 0.",
		func() bool { return g.limits.Degraded() != nil })
	telemetry.Counter(m, "weir_ratelimit_refused_total", "Requests that a limit refused.",
		func() int64 { return g.limits.Stats().Refused })
	telemetry.Counter(m, "weir_ratelimit_alone_total",
		"Requests that were decided from memory because Valkey did not answer.",
		func() int64 { return g.limits.Stats().Alone })
	g.measureOthers()
	if s := g.shipper; s != nil {
		telemetry.Gauge(m, "weir_backup_journal_timestamp_seconds",
			"When the backup last had all of the journal, in Unix time; 0 for not since the start.", s.shipped.Load)
		telemetry.Gauge(m, "weir_backup_full_timestamp_seconds",
			"When the database was last backed up, in Unix time; 0 for not since the start.", s.full.Load)
	}
}

// measureOthers is of what is beside the pipeline.
func (g *instance) measureOthers() {
	m := g.metrics
	telemetry.Counter(m, "weir_webhook_delivered_total", "Deliveries of webhooks that a receiver has taken.",
		func() int64 { return g.deliverer.Stats().Delivered })
	telemetry.Counter(m, "weir_webhook_failed_tries_total", "Tries to deliver a webhook that have failed.",
		func() int64 { return g.deliverer.Stats().Failed })
	m.GaugeBy("weir_price_data_timestamp_seconds", "source",
		"The day of the price data, of the embedded (shipped) and of each price file, in Unix time.",
		g.fleet.prices.Days)
	m.Flag("weir_price_files_rejected",
		"1 while a price file has mistakes, so that the prices before it stay in force, else 0.",
		func() bool { return g.fleet.prices.Now().Problem() != "" })
	m.GaugeBy("weir_kept", "kind",
		"Replies for an Idempotency-Key and responses of the Responses API that are kept, of all nodes.",
		func(tell func(string, float64)) {
			if u, ok := g.keptInAll(); ok {
				tell(string(kept.Reply), float64(u.Replies))
				tell(string(kept.Response), float64(u.Responses))
			}
		})
	m.GaugeBy("weir_kept_bytes", "kind", "Bytes that they take.", func(tell func(string, float64)) {
		if u, ok := g.keptInAll(); ok {
			tell(string(kept.Reply), float64(u.ReplyBytes))
			tell(string(kept.Response), float64(u.ResponseBytes))
		}
	})
	m.GaugeBy("weir_provider_circuit_open", "provider",
		"1 while all targets of the provider that were asked are passed over, else 0.", g.circuits)
}

// keptWait is how long the database has to say how much is kept.
const keptWait = 2 * time.Second

// keptInAll is what is kept of all accounts; false where the database does not say.
func (g *instance) keptInAll() (sum kept.Usage, ok bool) {
	ctx, cancel := context.WithTimeout(context.Background(), keptWait)
	defer cancel()
	all, err := g.store.Kept.Usage(ctx)
	for i := range all {
		sum.Add(&all[i])
	}
	return sum, err == nil
}

func (g *instance) circuits(tell func(provider string, n float64)) {
	for _, p := range g.router.Table().Providers(g.options.Now()) {
		open := 0.0
		if p.State == route.StateOpen {
			open = 1
		}
		tell(p.Name, open)
	}
}

// metricsRoute is the metrics on the main listener, which only the machine
// itself can reach, or clients with a certificate. Elsewhere they would show every account what all others do,
// and there is none, nor where the metrics have a listener of their own.
func (g *instance) metricsRoute() []httpRoute {
	cfg := &g.options.Config
	if cfg.TLS.ClientCA != "" && cfg.Telemetry.Listen == "" {
		return []httpRoute{{pattern: metricsPattern, handler: certifiedAlone(&cfg.TLS, g.metrics.Handler())}}
	}
	if cfg.Telemetry.Listen != "" || !onLoopback(cfg.Listen) || len(cfg.TrustedProxies) > 0 {
		return nil
	}
	return []httpRoute{{pattern: metricsPattern, handler: g.metrics.Handler()}}
}

// certifiedAlone answers clients with a certificate alone.
func certifiedAlone(t *config.TLS, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := checkCertificate(t, r); err != nil {
			http.Error(w, llm.AsError(err).Message, llm.AsError(err).Code.Status())
			return
		}
		next.ServeHTTP(w, r)
	})
}

// onLoopback is whether nobody but this machine can reach the address.
func onLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	at, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && at.IsLoopback()
}

// listenTelemetry opens the listener of the metrics; nil without one.
func (g *instance) listenTelemetry(ctx context.Context) (net.Listener, error) {
	address := g.options.Config.Telemetry.Listen
	if address == "" {
		return nil, nil
	}
	if l := g.handover.listener(telemetryListener); l != nil {
		return l, nil
	}
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for metrics: %w: choose another telemetry.listen", err)
	}
	g.options.Log.Info("metrics are served", "url", "http://"+listener.Addr().String()+"/metrics")
	return listener, nil
}

// serveTelemetry answers for metrics and health on a listener of their own until
// ctx ends.
func (g *instance) serveTelemetry(ctx context.Context, listener net.Listener) {
	mux := http.NewServeMux()
	mux.Handle(metricsPattern, g.metrics.Handler())
	mux.Handle("GET /livez", g.api.Health.Live())
	mux.Handle("GET /readyz", g.api.Health.Ready(g.draining.Load))
	from := originOf(&g.options.Config)
	checked := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := from.checkHost(r); err != nil && !isPlainHealth(r) {
			e := llm.AsError(err)
			http.Error(w, e.Message, e.Code.Status())
			return
		}
		mux.ServeHTTP(w, r)
	})
	server := front.New(front.Options{
		Handler: checked, Log: g.options.Log, Most: usualConnections,
		MaxHead: maxHeaderBytes, HeadTime: headerTimeout, IdleTime: idleTimeout,
	})
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := serveOn(server.Serve, listener); err != nil {
		g.options.Log.Error("the metrics listener has stopped", "err", err)
	}
}

// counted counts the requests to a handler for a route of the service. Those to
// models count themselves.
func (g *instance) counted(pattern string, next http.Handler) http.Handler {
	counters := g.metrics.Route(pattern)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		started := time.Now()
		seen := &witness{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(seen, r)
		counters.Done(seen.status, time.Since(started))
	})
}

// witness sees the status of an answer.
type witness struct {
	http.ResponseWriter
	status int
}

// WriteHeader is http.ResponseWriter's.
func (w *witness) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (w *witness) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// routeOf is the path of a pattern as the metrics have it.
func routeOf(pattern string) string {
	_, path, _ := strings.Cut(pattern, " ")
	return path
}

// otherRoute counts whatever is at no pattern.
const otherRoute = "other"
