package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"

	"weir/internal/account"
	"weir/internal/api"
	"weir/internal/audit"
	"weir/internal/budget"
	"weir/internal/config"
	"weir/internal/dialect/registry"
	"weir/internal/kept"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/people"
	"weir/internal/pricing"
	"weir/internal/report"
	"weir/internal/route"
	"weir/internal/simulator"
	"weir/internal/store"
)

// Data is the database of an installation, for commands beside a running
// gateway.
type Data struct {
	Accounts *account.Service
	People   *people.Service
	store    *store.DB
	cfg      config.Config
	release  func() // what People holds
}

// OpenData opens the database that the configuration names, and makes it where
// there is none.
func OpenData(ctx context.Context, cfg config.Config, log *slog.Logger) (*Data, error) {
	db, err := OpenStore(ctx, &cfg, log)
	if err != nil {
		return nil, err
	}
	d := &Data{Accounts: account.NewService(db.Accounts.Stores(), db.Now, log), store: db, cfg: cfg}
	if d.People, d.release, err = newPeople(&d.cfg, db, log, d.BaseURL, d.Accounts.ForgetAdmins, nil); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return d, nil
}

// Close closes the database.
func (d *Data) Close() error {
	d.release()
	return d.store.Close()
}

// Uses is the usage of the account of that name, by the parameters of
// GET /v1/uses.
func (d *Data) Uses(ctx context.Context, accountName string, params map[string]string) (q report.UsesQuery,
	page report.UsesPage, err error,
) {
	acc, err := d.Accounts.Account(ctx, accountName)
	if err != nil {
		return q, page, err
	}
	if q, err = api.ParseUses(acc.ID, params); err != nil {
		return q, page, err
	}
	page, err = d.store.Reports.Uses(ctx, q)
	return q, page, err
}

// Now is the time by the clock that all nodes share.
func (d *Data) Now() time.Time { return d.store.Now() }

// Spent is what an account or a key has spent in a period.
func (d *Data) Spent(ctx context.Context, scope string, period int64) (llm.Money, error) {
	return d.store.Ledger.Spent(ctx, scope, period)
}

// Nodes are the gateway processes that share the database.
func (d *Data) Nodes(ctx context.Context) ([]budget.KnownNode, error) {
	return d.store.Leases.Nodes(ctx)
}

// ForgetNode gives up a node that will never come back.
func (d *Data) ForgetNode(ctx context.Context, by audit.Actor, journal uuid.UUID) error {
	err := d.store.Leases.ForgetNode(ctx, by, journal)
	if errors.Is(err, store.ErrNoNode) {
		return fmt.Errorf("there is no node %s: weir nodes list shows them", journal)
	}
	return err
}

// verifyPoll is how often it is looked whether the gateway has projected its journal.
const verifyPoll = 100 * time.Millisecond

// VerifyOptions say how Verify goes about it.
type VerifyOptions struct {
	// Wait is how long a gateway on this data directory has at most to project what its
	// journal has when Verify begins.
	Wait     time.Duration
	Waiting  func()                  // called when there is something to wait for; nil for nobody
	Progress func(done, total int64) // in rows; nil for nobody
}

// Verify recomputes every sum from the rows. The backlog is what the journal of this
// data directory had when it began, and the database does not have.
func (d *Data) Verify(ctx context.Context, o VerifyOptions) (v report.Verification, left ledger.Backlog, err error) {
	if left, err = d.backlog(ctx, &o); err != nil {
		return v, left, fmt.Errorf("read the journal: %w", err)
	}
	v, err = d.store.Ledger.Verify(ctx, o.Progress)
	return v, left, err
}

// backlog waits until the database has what the journals have, or no gateway runs that
// would project them, and tells what the database does not have.
func (d *Data) backlog(ctx context.Context, o *VerifyOptions) (left ledger.Backlog, err error) {
	wait, cancel := context.WithTimeout(ctx, o.Wait)
	defer cancel()
	for _, dir := range journalDirs(d.cfg.Data) {
		one, err := d.backlogOf(ctx, wait, dir, o.Waiting)
		if err != nil {
			return left, err
		}
		left.Records += one.Records
		left.Lost += one.Lost
	}
	return left, nil
}

func (d *Data) backlogOf(ctx, wait context.Context, dir string, waiting func()) (left ledger.Backlog, err error) {
	id, ok, err := ledger.Identity(dir)
	if err != nil || !ok {
		return left, err
	}
	to, err := ledger.Written(dir)
	if err != nil {
		return left, err
	}
	tick := time.NewTicker(verifyPoll)
	defer tick.Stop()
	for waited := false; ; waited = true {
		held, err := ledger.Held(dir) // before the position, which a gateway that ends may yet change
		if err != nil {
			return left, err
		}
		at, err := d.store.Ledger.Position(ctx, id)
		if err != nil {
			return left, err
		}
		if at >= to || !held || wait.Err() != nil {
			return ledger.Unprojected(dir, at, to)
		}
		if !waited && waiting != nil {
			waiting()
		}
		select {
		case <-wait.Done():
		case <-tick.C:
		}
	}
}

// AccountNames are the names of all accounts, by id.
func (d *Data) AccountNames(ctx context.Context) (map[string]string, error) {
	accounts, err := d.Accounts.Accounts(ctx)
	names := map[string]string{}
	for i := range accounts {
		names[accounts[i].ID] = accounts[i].Name
	}
	return names, err
}

// KeptAccount is what is kept for an account.
type KeptAccount struct {
	Name string // of the account; empty for the administration's replies
	kept.Usage
}

// Kept is what is kept for each account that has anything.
func (d *Data) Kept(ctx context.Context) ([]KeptAccount, error) {
	all, err := d.store.Kept.Usage(ctx)
	if err != nil {
		return nil, err
	}
	names, err := d.AccountNames(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]KeptAccount, len(all))
	for i, u := range all {
		list[i] = KeptAccount{names[u.Account], u}
	}
	return list, nil
}

// PurgeKept deletes what was kept before a moment: see store.Kept.Purge. An empty account
// name is every account.
func (d *Data) PurgeKept(ctx context.Context, by audit.Actor, accountName string, before time.Time) (sum kept.Usage,
	err error,
) {
	var only string
	if accountName != "" {
		acc, err := d.Accounts.Account(ctx, accountName)
		if err != nil {
			return sum, err
		}
		only = acc.ID
	}
	all, err := d.Kept(ctx)
	if err != nil {
		return sum, err
	}
	for _, a := range all {
		if only != "" && a.Account != only {
			continue
		}
		gone, err := d.store.Kept.Purge(ctx, by, audit.Object{Kind: "account", ID: a.Account, Name: a.Name}, before)
		sum.Add(&gone)
		if err != nil {
			return sum, err
		}
	}
	return sum, nil
}

// Export calls fn with every settled attempt of the dates, which are UTC and
// inclusive; empty for no bound. An empty account name is every account.
func (d *Data) Export(ctx context.Context, accountName, from, to string, fn func(*report.Exported) error) error {
	q, err := d.exportQuery(ctx, accountName, from, to)
	if err != nil {
		return err
	}
	return d.store.Reports.Export(ctx, q, fn)
}

func (d *Data) exportQuery(ctx context.Context, accountName, from, to string) (report.ExportQuery, error) {
	q, err := api.ParseUses("", map[string]string{"start_date": from, "end_date": to})
	if err == nil && accountName != "" {
		var acc account.Account
		acc, err = d.Accounts.Account(ctx, accountName)
		q.Account = acc.ID
	}
	return report.ExportQuery{Account: q.Account, From: q.From, To: q.To}, err
}

// Explain calls fn with what the sums of days are made of, by price. The bounds are those
// of Export.
func (d *Data) Explain(ctx context.Context, accountName, from, to string, fn func(*report.Explanation) error) error {
	q, err := d.exportQuery(ctx, accountName, from, to)
	if err != nil {
		return err
	}
	return d.store.Reports.Explain(ctx, q, fn)
}

// Resolve decides what an attempt of unknown outcome cost.
func (d *Data) Resolve(ctx context.Context, by audit.Actor, id ledger.AttemptID, cost llm.Money, release bool) error {
	return d.store.Ledger.Resolve(ctx, by, id, cost, release)
}

// Correct corrects what an attempt cost by an amount.
func (d *Data) Correct(ctx context.Context, by audit.Actor, c ledger.Correct) error {
	return d.store.Ledger.Correct(ctx, by, c)
}

// ResolveOlder resolves, by a rule, what attempts cost whose end nobody saw. An empty
// account name is every account.
func (d *Data) ResolveOlder(ctx context.Context, by audit.Actor, accountName string, q ledger.ResolveQuery,
	progress func(done, total int64),
) (ledger.Resolution, error) {
	if accountName != "" {
		acc, err := d.Accounts.Account(ctx, accountName)
		if err != nil {
			return ledger.Resolution{}, err
		}
		q.Account = acc.ID
	}
	return d.store.Ledger.ResolveOlder(ctx, by, q, progress)
}

// Migration is where the schema of a database stands.
type Migration struct {
	Current, Target int64
	Pending         bool
}

// Migrate brings the schema up to date, unless only asked to look.
func Migrate(ctx context.Context, cfg config.Config, log *slog.Logger, onlyLook bool) (Migration, error) {
	if onlyLook {
		m, err := store.CheckMigrations(ctx, storeOptions(&cfg, log))
		return Migration{m.Current, m.Target, m.Pending()}, err
	}
	db, err := OpenStore(ctx, &cfg, log)
	if err != nil {
		return Migration{}, err
	}
	m, err := db.MigrationStatus(ctx)
	return Migration{m.Current, m.Target, m.Pending()}, errors.Join(err, db.Close())
}

// Models is what the configuration can route to; or, of a named provider, what
// the embedded data knows even where it is not configured.
func (o *Options) Models(ctx context.Context, providerName string) (models []route.Model, err error) {
	err = o.withTable(ctx, func(_ *fleet, table *route.Table) error {
		if models = table.Models(time.Now()); providerName == "" {
			return nil
		}
		models = slices.DeleteFunc(models, func(m route.Model) bool { return m.Provider != providerName })
		if _, err := table.Targets(nil, providerName+"/any", ""); len(models) > 0 || err == nil {
			return nil // it is configured, whatever is known of its models
		}
		models, err = catalogued(providerName)
		return err
	})
	return models, err
}

// catalogued is what the embedded data knows of a provider.
func catalogued(providerName string) ([]route.Model, error) {
	book, err := pricing.NewBook(pricing.Overrides{})
	if err != nil {
		return nil, err
	}
	var models []route.Model
	for _, l := range book.Models(providerName, time.Now()) {
		models = append(models, route.Listed(providerName, &l))
	}
	if len(models) == 0 {
		return nil, fmt.Errorf("provider %q is not configured, and the model data does not know it", providerName)
	}
	return models, nil
}

// PriceData is the name, version and day of the embedded price data.
func PriceData() string {
	book, err := pricing.NewBook(pricing.Overrides{})
	if err != nil {
		return err.Error()
	}
	return book.Source() + " of " + book.Day()
}

// AbilityData is the same of the data about what models can do.
func AbilityData() string {
	book, err := pricing.NewBook(pricing.Overrides{})
	if err != nil {
		return err.Error()
	}
	return book.AbilitySource() + " of " + book.AbilityDay()
}

// SQLiteVersion is the version of the embedded database.
func SQLiteVersion() string { return store.SQLiteVersion() }

// SimulateOptions say how the simulator runs as a process of its own.
type SimulateOptions struct {
	Listen string
	Seed   uint64
	Strict bool // what breaks a rule of the vendor that it plays is refused
	Stderr io.Writer
}

// Simulate serves the fake provider until ctx ends.
func Simulate(ctx context.Context, o SimulateOptions) error {
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", o.Listen)
	if err != nil {
		return fmt.Errorf("listen: %w: choose another address with --listen", err)
	}
	sim := simulator.New(simulator.Options{Dialects: registry.All(), Seed: o.Seed, Strict: o.Strict})
	defer sim.Close()
	server := &http.Server{Handler: sim, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout}
	stop := context.AfterFunc(ctx, func() {
		sim.Close()
		_ = server.Close() // ends Serve, which tells
	})
	defer stop()
	if _, err := fmt.Fprintf(o.Stderr, "simulating on http://%s; use it as base URL http://%s/v1\n", listener.Addr(),
		listener.Addr()); err != nil {
		return err
	}
	return serveOn(server.Serve, listener)
}
