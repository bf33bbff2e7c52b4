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
	"weir/internal/httpserver"
	"weir/internal/llm"
	"weir/internal/refusal"
	"weir/internal/route"
	"weir/internal/store"
	"weir/internal/stored"
	"weir/internal/telemetry"
)

// metricsPattern is the pattern of the metrics.
const metricsPattern = "GET /metrics"

// labelsOf returns the labels of metrics that the configuration selects.
func labelsOf(c *config.Config) (l telemetry.Labels) {
	for _, name := range c.Telemetry.Labels {
		switch tag, isTag := strings.CutPrefix(name, config.TagLabel); {
		case isTag:
			l.Tags = append(l.Tags, telemetry.Tag{Name: tag, Label: config.LabelOf(tag)})
		case name == "account":
			l.Account = true
		case name == "key":
			l.Key = true
		}
	}
	return l
}

// countRefused counts a refused request in the metrics.
func (g *instance) countRefused(r refusal.Refusal) {
	g.metrics.Refused(r.Reason, telemetry.Caller{Account: r.AccountName, Key: r.Key, KeyLabel: r.KeyLabel})
}

// measure registers the metrics of the gateway's parts.
func (g *instance) measure() {
	m := g.metrics
	telemetry.Gauge(m, "weir_requests_in_flight", "Requests in the pipeline.", g.gateway.Capacity().InFlight)
	telemetry.Gauge(m, "weir_requests_waiting", "Requests that wait to enter the pipeline.",
		g.gateway.Capacity().Waiting)
	telemetry.Gauge(m, "weir_websockets_open", "WebSockets of clients that are open.",
		func() int64 { return int64(g.site.open.Len()) })
	telemetry.Gauge(m, "weir_holds_open", "Attempts that are open in the ledger.", g.ledger.InFlight)
	telemetry.Gauge(m, "weir_ledger_lag_bytes", "Bytes of the journal that the database does not have yet.",
		func() int64 { lag, _ := g.ledger.Lag(); return lag })
	m.Flag("weir_ledger_database_up", "1 while the database accepts the journal, else 0.",
		func() bool { _, err := g.ledger.Lag(); return err == nil })
	telemetry.Counter(m, "weir_ledger_unknown_total",
		"Attempts that were settled as unknown because their process died.", g.ledger.Unknown)
	telemetry.Counter(m, "weir_attribution_other_total", "Attempts that were added up without their end user, or "+
		"the value of "+
		"a tag, because their day has too many.", g.store.Attribution.OtherAttempts)
	telemetry.Gauge(m, "weir_journal_lost_bytes",
		"Bytes of the journal that could not be read back since the start.", g.ledger.Lost)
	telemetry.Gauge(m, "weir_ledger_set_aside",
		"Records of this node's journal that could not be stored, so that the sums lack them.", g.ledger.SetAside)
	telemetry.Gauge(m, "weir_nodes_alive", "Nodes that share the database, including this one.",
		g.ledger.Budgets().Alive)
	telemetry.Gauge(m, "weir_clock_offset_seconds",
		"Seconds by which the database's clock is ahead of this machine's; 0 if they differ by at most one.",
		func() float64 { return g.store.ClockOffset().Seconds() })
	m.Flag("weir_ratelimit_degraded", "1 while limits are counted in memory because Valkey does not answer, else 0.",
		func() bool { return g.limits.Degraded() != nil })
	telemetry.Counter(m, "weir_ratelimit_refused_total", "Requests that a limit refused.",
		func() int64 { return g.limits.Stats().Refused })
	telemetry.Counter(m, "weir_ratelimit_alone_total",
		"Requests that were decided from memory because Valkey did not answer.",
		func() int64 { return g.limits.Stats().Alone })
	g.measureOthers()
	if s := g.shipper; s != nil {
		telemetry.Gauge(m, "weir_backup_journal_timestamp_seconds",
			"When the backup last had the whole journal, in Unix time; 0 if not since the start.", s.Shipped)
		telemetry.Gauge(m, "weir_backup_full_timestamp_seconds",
			"When the database was last backed up, in Unix time; 0 if not since the start.", s.Full)
	}
}

// measureOthers registers metrics outside the pipeline.
func (g *instance) measureOthers() {
	m := g.metrics
	telemetry.Counter(m, "weir_webhook_delivered_total", "Webhook deliveries that a receiver accepted.",
		func() int64 { return g.deliverer.Stats().Delivered })
	telemetry.Counter(m, "weir_webhook_failed_tries_total", "Failed tries of webhook deliveries.",
		func() int64 { return g.deliverer.Stats().Failed })
	m.GaugeBy("weir_price_data_timestamp_seconds", "source",
		"Day of the embedded price data (shipped) and of each price file, in Unix time.",
		g.upstream.Prices().Days)
	m.Flag("weir_price_files_rejected",
		"1 while a price file has mistakes and the former prices stay in force, else 0.",
		func() bool { return g.upstream.Prices().Now().Problem() != "" })
	m.GaugeBy("weir_kept", "kind",
		"Stored replies for an Idempotency-Key and stored responses of the Responses API, on all nodes.",
		func(tell func(string, float64)) {
			if u, ok := keptInAll(g.store.Kept); ok {
				tell(string(stored.Reply), float64(u.Replies))
				tell(string(stored.Response), float64(u.Responses))
			}
		})
	m.GaugeBy("weir_kept_bytes", "kind", "Bytes of the stored replies and responses.",
		func(tell func(string, float64)) {
			if u, ok := keptInAll(g.store.Kept); ok {
				tell(string(stored.Reply), float64(u.ReplyBytes))
				tell(string(stored.Response), float64(u.ResponseBytes))
			}
		})
	telemetry.Gauge(m, "weir_content_waiting_bytes",
		"Bytes of requests and answers that wait to be logged, or whose requests run.", g.content.Queued)
	telemetry.Gauge(m, "weir_content_bytes", "Encrypted bytes of the content log, on all nodes.",
		func() int64 {
			return bytesInAll(g.store.Content.Usage, func(u *store.SealedUsage) int64 { return u.Bytes })
		})
	measureAnswers(g)
	m.GaugeBy("weir_provider_circuit_open", "provider",
		"1 while all called targets of the provider are skipped, else 0.", g.circuits)
}

// keptWait bounds the query of how much is stored.
const keptWait = 2 * time.Second

// keptInAll returns how much is stored for all accounts, or false if the database does not answer in time.
func keptInAll(s *store.Kept) (sum stored.Usage, ok bool) {
	ctx, cancel := context.WithTimeout(context.Background(), keptWait)
	defer cancel()
	all, err := s.Usage(ctx)
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

// metricsRoute returns the route of the metrics on the main listener. It exists only if that listens on loopback or
// requires client certificates, because the metrics show data of all accounts, and only if the metrics have no
// listener of their own.
func (s *site) metricsRoute() []httpRoute {
	cfg := &s.options.Config
	if cfg.TLS.ClientCA != "" && cfg.Telemetry.Listen == "" {
		return []httpRoute{{pattern: metricsPattern, handler: certifiedAlone(&cfg.TLS, s.metrics.Handler())}}
	}
	if cfg.Telemetry.Listen != "" || !onLoopback(cfg.Listen) || len(cfg.TrustedProxies) > 0 {
		return nil
	}
	return []httpRoute{{pattern: metricsPattern, handler: s.metrics.Handler()}}
}

// certifiedAlone answers only clients with a certificate.
func certifiedAlone(t *config.TLS, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := checkCertificate(t, r); err != nil {
			http.Error(w, llm.AsError(err).Message, llm.AsError(err).Code.Status())
			return
		}
		next.ServeHTTP(w, r)
	})
}

// onLoopback reports whether only this machine can reach the address.
func onLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	at, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && at.IsLoopback()
}

// listenTelemetry opens the listener of the metrics; it returns nil if there is none.
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

// serveTelemetry answers requests for metrics and health on their own listener until ctx ends.
func (g *instance) serveTelemetry(ctx context.Context, listener net.Listener) {
	mux := http.NewServeMux()
	mux.Handle(metricsPattern, g.metrics.Handler())
	mux.Handle("GET /livez", g.site.api.Health.Live())
	mux.Handle("GET /readyz", g.site.api.Health.Ready(g.site.draining.Load))
	from := originOf(&g.options.Config)
	checked := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := from.checkHost(r); err != nil && !isPlainHealth(r) {
			e := llm.AsError(err)
			http.Error(w, e.Message, e.Code.Status())
			return
		}
		mux.ServeHTTP(w, r)
	})
	server := httpserver.New(httpserver.Options{
		Handler: checked, Log: g.options.Log, Most: usualConnections,
		MaxHead: maxHeaderBytes, HeadTime: headerTimeout, IdleTime: idleTimeout,
	})
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := serveOn(server.Serve, listener); err != nil {
		g.options.Log.Error("the metrics listener has stopped", "err", err)
	}
}
