package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"weir/internal/admin"
	"weir/internal/answercache"
	"weir/internal/budget"
	"weir/internal/config"
	"weir/internal/contentlog"
	"weir/internal/conversation"
	"weir/internal/dialect"
	"weir/internal/gateway"
	"weir/internal/httpserver"
	"weir/internal/ledger"
	"weir/internal/people"
	"weir/internal/provider"
	"weir/internal/ratelimit"
	"weir/internal/refusal"
	"weir/internal/route"
	"weir/internal/signin"
	"weir/internal/store"
	"weir/internal/stored"
	"weir/internal/systemd"
	"weir/internal/telemetry"
	"weir/internal/tool"
	"weir/internal/tracing"
	"weir/internal/upstream"
	"weir/internal/webhook"
)

// Options holds everything that Run needs, including the configuration.
type Options struct {
	Config config.Config
	// ConfigFrom is the source of Config. Reload reads it again, with the managed configuration of the database, when
	// ReloadSignals says so.
	ConfigFrom    config.Options
	Reload        func(managed []byte) (config.Config, error)
	ReloadSignals <-chan struct{}
	// Getenv looks up an environment variable, like os.Getenv.
	Getenv func(string) string
	// Stdout receives the first key and the set-up link, Stderr the line with the listening address.
	Stdout, Stderr io.Writer
	Log            *slog.Logger
	Version        string
	// Dialects replaces the wire formats of this build, for tests.
	Dialects dialect.Set
	// Journal changes the options of the ledger, for tests; it may be nil.
	Journal func(*ledger.Options)
	// Opened receives the opened ledger, for tests; it may be nil.
	Opened func(*ledger.Ledger)
	// JournalDir replaces the directory of the journal, for tests.
	JournalDir string
	// Limits changes the options of the limiter, for tests; it may be nil.
	Limits func(*ratelimit.Options)
	// People changes the options of people and their sign-in, for tests; it may be nil.
	People func(*people.Options, *signin.Options)
	// OAuth replaces the connections to the descriptions of programs, for tests; it may be nil.
	OAuth http.RoundTripper
	// Takeover takes over the listeners of a gateway on the same data directory, and stops that gateway.
	Takeover bool
	// Ready receives the address once the gateway answers; it may be nil.
	Ready func(addr string)
	// Timing replaces the timers of the pipeline, and Now this machine's clock, for tests. A nil Now means time.Now.
	Timing gateway.Timing
	Now    func() time.Time
}

// Timeouts and limits of the HTTP server. Writing has no timeout, because an answer takes as long as its model; each
// piece of it has its own deadline.
const (
	headerTimeout  = 10 * time.Second
	idleTimeout    = 90 * time.Second
	maxHeaderBytes = 32 << 10
	closeTimeout   = 15 * time.Second
	toldTimeout    = time.Second // to report the end of aborted requests to their clients
)

// Run serves until ctx ends, then lets requests in flight finish within the configured time, and settles the rest.
func Run(ctx context.Context, o Options) (err error) {
	if err := checkStart(&o.Config); err != nil {
		return err
	}
	passed, err := takePassed(&o)
	if err != nil {
		return err
	}
	g, err := build(ctx, &o)
	if err != nil {
		return errors.Join(err, closePassed(passed))
	}
	defer func() { err = errors.Join(err, g.close()) }()
	listener := passed
	if listener == nil {
		if listener, err = g.listen(ctx); err != nil {
			return err
		}
	}
	return g.serve(ctx, listener)
}

// instance holds one running gateway.
type instance struct {
	options  *Options
	store    *store.DB
	admin    *admin.Admin
	ledger   *ledger.Ledger
	upstream *upstream.Builder
	// files and connections divide the open files of the process.
	files       fileShares
	connections *provider.Connections
	metrics     *telemetry.Metrics
	tracer      *tracing.Tracer // nil without a collector
	logLines    *logLines
	manager     *systemd.Manager

	deliverer *webhook.Deliverer
	notices   *webhook.Notices
	shipper   *admin.Shipper // nil without backups
	journal   string         // directory of the journal
	handover  handover

	idempotency *idempotencyStore
	kept        *conversation.Service
	content     *contentlog.Recorder
	answers     *answercache.Cache // nil if no answers are stored
	limits      *ratelimit.Limiter
	router      *route.Router
	pipeline    gateway.Options
	gateway     *gateway.Server
	tools       *tool.Service
	site        *site
	base        atomic.Pointer[string]        // address on this machine, once it listens
	reloaded    atomic.Pointer[config.Config] // nil until the first reload
	closers     []func() error
}

// build builds all parts, in the order of their dependencies.
func build(ctx context.Context, o *Options) (g *instance, err error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	bounded := newBoundedLog(o.Log.Handler(), o.Now)
	o.Log = slog.New(bounded)
	g = &instance{options: o, metrics: telemetry.New(o.Version, labelsOf(&o.Config)), logLines: bounded.lines}
	g.manager = systemd.NewManager(o.Getenv, o.Log)
	defer func() {
		if err != nil {
			err = errors.Join(err, g.close())
		}
	}()
	g.onClose(func() error { g.handover.abandon(); return nil })
	if err := g.handover.begin(ctx, o); err != nil {
		return g, err
	}
	if err := g.openData(ctx); err != nil {
		return g, err
	}
	if err := g.openWebhooks(); err != nil {
		return g, err
	}
	if g.shipper, err = g.admin.Shipper(admin.ShipOptions{
		Config: &o.Config, Ledger: g.ledger, Journal: g.journal, Now: o.Now, Log: o.Log, Version: o.Version,
	}); err != nil {
		return g, err
	}
	if err := g.openPipeline(ctx); err != nil {
		return g, err
	}
	if g.site, err = newSite(g); err != nil {
		return g, err
	}
	g.measure()
	return g, nil
}

// openPipeline creates the pipeline of requests.
func (g *instance) openPipeline(ctx context.Context) error {
	o := g.options
	g.files = openShares(o.Log, o.Config.MaxConcurrency)
	g.connections = provider.NewConnections(g.files.providers)
	g.upstream = upstream.New(&upstream.Options{
		Config: o.Config, Getenv: o.Getenv, Log: o.Log, Version: o.Version, Dialects: o.Dialects,
		Notify: g.noticeHealth, Connections: g.connections,
	})
	g.onClose(func() error { g.upstream.Close(); return nil })
	table, err := g.upstream.Table(ctx, &o.Config)
	if err != nil {
		return err
	}
	g.router = route.NewRouter(table)
	g.onClose(func() error { g.router.Table().Close(); return nil })
	if err := g.openLimits(); err != nil {
		return err
	}
	if err := g.openTraces(ctx); err != nil {
		return err
	}
	g.pipeline = gateway.Options{
		Accounts: g.admin.Accounts, Ledger: g.ledger, Router: g.router, Idempotency: g.idempotency, Kept: g.kept,
		Limits: g.limits, Refused: g.noticeRefusal, Refusals: g.pipeline.Refusals, Content: g.content,
		Now: o.Now, Log: o.Log, Metrics: g.metrics, Tracer: g.tracer, Tools: newToolLoop(g),
		Answers: g.answers, MaxSockets: int64(g.files.clients / 2),
		MaxBody: int64(o.Config.MaxBody), MaxConcurrency: int64(g.files.places), Timing: o.Timing,
	}
	g.gateway = gateway.New(g.pipeline)
	return openTools(g)
}

func (g *instance) onClose(f func() error) { g.closers = append(g.closers, f) }

// close closes the parts, the last one first.
func (g *instance) close() error {
	var errs error
	for i := len(g.closers) - 1; i >= 0; i-- {
		errs = errors.Join(errs, g.closers[i]())
	}
	g.closers = nil
	return errs
}

// openData opens the database and the journal.
func (g *instance) openData(ctx context.Context) error {
	o := g.options
	where := admin.StoreOptions(&o.Config, o.Log)
	where.Machine = o.Now
	where.Content, where.Answers = contentQuota(&o.Config), answerQuota(&o.Config)
	where.Kept = stored.Quota{
		Bytes: int64(o.Config.Kept.BytesPerAccount), Number: o.Config.Kept.RepliesPerAccount,
		FreeDisk: int64(o.Config.Kept.MinFreeDisk),
	}
	db, err := store.Open(ctx, where)
	if err != nil {
		return err
	}
	g.store = db
	g.onClose(db.Close)
	g.pipeline.Refusals = refusal.NewRecorder(refusal.Options{
		Write: g.store.Refusals.Write, Counted: g.countRefused, Now: o.Now, Log: o.Log,
	})
	if err := g.openAdmin(); err != nil {
		return err
	}
	g.openContent()
	g.kept = conversation.New(conversation.Options{
		Store: db.Kept, Now: db.Now, TTL: func() time.Duration { return retentionOf(g).Responses },
	})
	if g.journal = o.JournalDir; g.journal == "" {
		if g.journal, err = ledger.AwaitDir(ctx, o.Config.Data, g.handover.taking()); err != nil {
			return err
		}
	}
	journal := ledger.Options{
		Dir: g.journal, Store: db.Ledger, Leases: db.Leases,
		Node:   budget.Node{Name: hostname(), Address: o.Config.Listen, Version: o.Version},
		Strict: o.Config.Durability == "strict", Now: o.Now, SharedNow: db.Now, Log: o.Log,
	}
	if o.Journal != nil {
		o.Journal(&journal)
	}
	if g.ledger, err = ledger.New(ctx, journal); err != nil {
		return err
	}
	g.onClose(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		return g.ledger.Close(ctx)
	})
	if o.Opened != nil {
		o.Opened(g.ledger)
	}
	if err := beginManaged(ctx, o, g.admin.Configuration); err != nil {
		return err
	}
	g.idempotency, err = newIdempotencyStore(ctx, db.Kept, g.ledger.Journal().String())
	return err
}

// hostname returns the machine's name, for people.
func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return name
}

// serve answers on the listener until ctx ends.
func (g *instance) serve(ctx context.Context, listener net.Listener) error {
	o := g.options
	secure, keepSecure, err := g.secure()
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	metrics, err := g.listenTelemetry(ctx)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	g.runParts(background, &running)
	if metrics != nil {
		running.Go(func() { g.serveTelemetry(background, metrics) })
	}
	handler := g.site.handler()
	running.Go(func() { g.manager.Watch(background, livezOf(handler)) })

	server := httpserver.New(httpserver.Options{
		Handler: handler, Base: g.gateway.Base(), Secure: secure, Log: g.options.Log,
		Most: g.files.clients, Release: g.connections.Release,
		MaxHead: maxHeaderBytes, HeadTime: headerTimeout, IdleTime: idleTimeout,
	})
	failed := make(chan error, 1)
	running.Go(func() { failed <- serveOn(server.Serve, listener) })
	running.Go(func() { keepSecure(background) })
	// drain handles a stop that arrives now.
	if err := g.announce(context.WithoutCancel(ctx), listener.Addr()); err != nil {
		return errors.Join(err, server.Close())
	}
	if err := g.handover.finish(); err != nil {
		return errors.Join(fmt.Errorf("take over: %w", err), server.Close())
	}
	running.Go(func() { g.handover.offer(background, g.options, listenersOf(listener, metrics)) })
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		g.site.draining.Store(true)
		g.manager.Stopping(o.Config.DrainDelay + o.Config.DrainTimeout + toldTimeout + 2*closeTimeout)
		retire(o.Log, o.Config.DrainDelay, server, g.site.open, g.site.tools)
	case <-g.handover.taken: // and the new gateway answers already
		g.options.Log.Info("another gateway has taken over")
		retire(o.Log, handoverDelay, server, g.site.open, g.site.tools)
	}
	return g.drain(server)
}

// runParts starts the background work, which runs until ctx ends.
func (g *instance) runParts(background context.Context, running *sync.WaitGroup) {
	cfg := &g.options.Config
	running.Go(func() { g.logLines.run(background) })
	running.Go(func() { g.admin.Accounts.Watch(background, g.ledger.Budgets().Recount, g.ledger.Budgets().Changed) })
	running.Go(func() { g.limits.Run(background) })
	running.Go(func() { g.site.open.Run(background) })
	running.Go(func() { socketReporter(g).Run(background) })
	running.Go(func() { g.reload(background) })
	running.Go(func() {
		g.store.RunRetention(background, func() store.Retention { return storeRetention(g) })
	})
	running.Go(func() { g.router.Report(background, upstream.HealthFile(cfg), g.options.Now, g.options.Log) })
	running.Go(func() { g.gateway.Capacity().Watch(background) })
	running.Go(func() { g.admin.SignIn.Passwords.Run(background) })
	running.Go(func() { g.notices.Run(background) })
	running.Go(func() { g.pipeline.Refusals.Run(background) })
	running.Go(func() { g.content.Run(background) })
	running.Go(func() { g.store.Events.RunCalendar(background) })
	running.Go(func() { evaluatorOf(g).Run(background) })
	running.Go(func() { g.admin.Reconciliation.WatchDrift(background) })
	running.Go(func() { g.deliverer.Run(background) })
	running.Go(func() {
		(&inquiry{router: g.router, corrections: g.store.Corrections, log: g.options.Log}).run(background)
	})
	running.Go(func() { g.adoptOthers(background) })
	if g.shipper != nil {
		running.Go(func() { g.shipper.Run(background) })
	}
}
