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

// Data gives commands access to the database of an installation, also while a gateway runs.
type Data struct {
	Accounts *account.Service
	People   *people.Service
	store    *store.DB
	cfg      config.Config
	release  func() // closes People
}

// OpenData opens the database of the configuration, and creates it if it does not exist.
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

// Uses returns the usage of the account with that name, for the parameters of GET /v1/uses.
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

// Now returns the time of the shared clock.
func (d *Data) Now() time.Time { return d.store.Now() }

// Spent returns the spending of an account or a key in a period.
func (d *Data) Spent(ctx context.Context, scope string, period int64) (llm.Money, error) {
	return d.store.Ledger.Spent(ctx, scope, period)
}

// Nodes returns the nodes that share the database.
func (d *Data) Nodes(ctx context.Context) ([]budget.KnownNode, error) {
	return d.store.Leases.Nodes(ctx)
}

// ForgetNode forgets a node that will never come back.
func (d *Data) ForgetNode(ctx context.Context, by audit.Actor, journal uuid.UUID) error {
	err := d.store.Leases.ForgetNode(ctx, by, journal)
	if errors.Is(err, store.ErrNoNode) {
		return fmt.Errorf("there is no node %s: weir nodes list shows the nodes", journal)
	}
	return err
}

// verifyPoll is the interval for checking whether the gateway has projected its journal.
const verifyPoll = 100 * time.Millisecond

// VerifyOptions holds the options of Verify.
type VerifyOptions struct {
	// Wait bounds how long Verify waits for a gateway on this data directory to project its journal.
	Wait     time.Duration
	Waiting  func()                  // called once if Verify has to wait; may be nil
	Progress func(done, total int64) // in rows; may be nil
}

// Verify recomputes every sum from the rows. The backlog counts the journal records of this data directory, as of the
// start, that the database does not have.
func (d *Data) Verify(ctx context.Context, o VerifyOptions) (v report.Verification, left ledger.Backlog, err error) {
	if left, err = d.backlog(ctx, &o); err != nil {
		return v, left, fmt.Errorf("read the journal: %w", err)
	}
	v, err = d.store.Ledger.Verify(ctx, o.Progress)
	return v, left, err
}

// backlog waits until the database has all records of the journals, or until no gateway runs that would project them.
// It returns the records that are still missing.
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
		held, err := ledger.Held(dir) // read before the position, which a stopping gateway may still change
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

// AccountNames returns the names of all accounts, by id.
func (d *Data) AccountNames(ctx context.Context) (map[string]string, error) {
	accounts, err := d.Accounts.Accounts(ctx)
	names := map[string]string{}
	for i := range accounts {
		names[accounts[i].ID] = accounts[i].Name
	}
	return names, err
}

// KeptAccount holds how much is stored for an account's clients.
type KeptAccount struct {
	Name string // of the account; empty for the replies of the administration API
	kept.Usage
}

// Kept returns the stored amounts of each account that has any.
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

// PurgeKept deletes replies and responses that were stored before a time: see store.Kept.Purge. An empty account name
// means every account.
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

// Export calls fn with every settled attempt of the dates, which are UTC and inclusive; an empty date is no bound. An
// empty account name means every account.
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

// Explain calls fn with the usage behind each day's sums, by price. The bounds are those of Export.
func (d *Data) Explain(ctx context.Context, accountName, from, to string, fn func(*report.Explanation) error) error {
	q, err := d.exportQuery(ctx, accountName, from, to)
	if err != nil {
		return err
	}
	return d.store.Reports.Explain(ctx, q, fn)
}

// Resolve sets the cost of an attempt with an unknown end.
func (d *Data) Resolve(ctx context.Context, by audit.Actor, id ledger.AttemptID, cost llm.Money, release bool) error {
	return d.store.Ledger.Resolve(ctx, by, id, cost, release)
}

// Correct adds an amount to the cost of an attempt.
func (d *Data) Correct(ctx context.Context, by audit.Actor, c ledger.Correct) error {
	return d.store.Ledger.Correct(ctx, by, c)
}

// ResolveOlder sets the cost of older attempts with an unknown end, by a rule. An empty account name means every
// account.
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

// Migration holds the version of a database's schema.
type Migration struct {
	Current, Target int64
	Pending         bool
}

// Migrate migrates the schema to the newest version, or only reads its version if onlyLook is set.
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

// Models returns the models that the configuration can route to. For a provider's name it returns that provider's
// models, from the embedded data if it is not configured.
func (o *Options) Models(ctx context.Context, providerName string) (models []route.Model, err error) {
	err = o.withTable(ctx, func(_ *fleet, table *route.Table) error {
		if models = table.Models(time.Now()); providerName == "" {
			return nil
		}
		models = slices.DeleteFunc(models, func(m route.Model) bool { return m.Provider != providerName })
		if _, err := table.Targets(nil, providerName+"/any", ""); len(models) > 0 || err == nil {
			return nil // it is configured, even if its models are unknown
		}
		models, err = catalogued(providerName)
		return err
	})
	return models, err
}

// catalogued returns the models of a provider from the embedded data.
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
		return nil, fmt.Errorf("provider %q is neither configured nor in the model data: weir models lists the "+
			"known ones", providerName)
	}
	return models, nil
}

// PriceData returns the name, version and day of the embedded price data.
func PriceData() string {
	book, err := pricing.NewBook(pricing.Overrides{})
	if err != nil {
		return err.Error()
	}
	return book.Source() + " of " + book.Day()
}

// AbilityData returns the name, version and day of the embedded data about models' abilities.
func AbilityData() string {
	book, err := pricing.NewBook(pricing.Overrides{})
	if err != nil {
		return err.Error()
	}
	return book.AbilitySource() + " of " + book.AbilityDay()
}

// SQLiteVersion returns the version of the embedded SQLite.
func SQLiteVersion() string { return store.SQLiteVersion() }

// SimulateOptions holds the options of a simulator that runs as its own process.
type SimulateOptions struct {
	Listen string
	Seed   uint64
	Strict bool // refuse requests that break a rule of the simulated vendor
	Stderr io.Writer
}

// Simulate runs the simulated provider until ctx ends.
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
		_ = server.Close() // Serve returns the error
	})
	defer stop()
	if _, err := fmt.Fprintf(o.Stderr, "simulating on http://%s; use it as base URL http://%s/v1\n", listener.Addr(),
		listener.Addr()); err != nil {
		return err
	}
	return serveOn(server.Serve, listener)
}
