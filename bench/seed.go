package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"time"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/budget"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/store"
)

// place is the location of a database.
type place struct{ database, data string }

func (p *place) flags(fs *flag.FlagSet) {
	fs.StringVar(&p.database, "database", "", "`URL` of a PostgreSQL database, postgres://…")
	fs.StringVar(&p.data, "data", "", "`directory` with an SQLite database, as in weir serve --data")
}

func (p *place) options() (o store.Options, err error) {
	if (p.database == "") == (p.data == "") {
		return o, fmt.Errorf("%w: set either --database URL or --data DIR", errUsage)
	}
	o.Log = slog.New(slog.DiscardHandler)
	if p.database != "" {
		o.URL = llm.NewSecret(p.database)
		return o, nil
	}
	o.Path, err = filepath.Abs(filepath.Join(p.data, "weir.db"))
	return o, err
}

// mostLater is how far --until may be behind --end.
const mostLater = 48 * time.Hour

// seedBatch is how many attempts are written at once, which is as many as the projector writes under load.
const seedBatch = 1000

func seedCommand(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	fs := flag.NewFlagSet("bench seed", flag.ContinueOnError)
	var at place
	at.flags(fs)
	var s year
	fs.Int64Var(&s.Requests, "requests", 100_000_000, "`requests` in all, as counted by the rollups")
	fs.Int64Var(&s.Rows, "rows", 5_000_000, "`rows` of the last requests; the others have only sums")
	fs.IntVar(&s.Days, "days", 365, "`days` of the requests")
	fs.IntVar(&s.Accounts, "accounts", 2000, "`accounts`: a hundredth of them large, a tenth middling")
	fs.Int64Var(&s.Refusals, "refusals", 0, "counts of refused requests, a minute each, of the last 30 days")
	end := fs.String("end", "2026-11-21", "`date` behind the last day, or RFC 3339 time if each request has a row")
	until := fs.String("until", "", "RFC 3339 `time` up to which rows and refused requests continue behind --end")
	if err := parse(fs, args, stderr); err != nil {
		return err
	}
	o, err := at.options()
	if err != nil {
		return err
	}
	if s.End, err = time.Parse(time.DateOnly, *end); err != nil && s.history() == 0 {
		s.End, err = time.Parse(time.RFC3339, *end)
	}
	if err != nil {
		return fmt.Errorf("%w: --end must be a date such as 2026-11-21", errUsage)
	}
	if s.Until, err = time.Parse(time.RFC3339, cmp.Or(*until, s.End.Format(time.RFC3339))); err != nil {
		return fmt.Errorf("%w: --until must be a time such as 2026-11-21T08:00:00Z", errUsage)
	}
	if err := s.check(); err != nil {
		return err
	}
	seed := &seeding{year: s, options: o, progress: stderr}
	if err := seed.run(ctx); err != nil {
		return err
	}
	_, err = fmt.Fprint(stdout, seed.summary())
	return err
}

func (s *year) check() error {
	const most = 10_000_000_000
	switch {
	case s.Requests < 1 || s.Requests > most:
		return fmt.Errorf("%w: --requests must be 1 to %d", errUsage, int64(most))
	case s.Rows < 0 || s.Rows > s.Requests:
		return fmt.Errorf("%w: --rows must be 0 to --requests", errUsage)
	case s.Days < 1 || s.Days > 3650:
		return fmt.Errorf("%w: --days must be 1 to 3650", errUsage)
	case s.Accounts < 1 || s.Accounts > 1_000_000:
		return fmt.Errorf("%w: --accounts must be 1 to 1000000", errUsage)
	case s.Until.Sub(s.End) > mostLater || s.Until.After(s.End) && s.Rows == 0:
		return fmt.Errorf("%w: --until must be at most %v after --end, and needs --rows", errUsage, mostLater)
	case s.history() == 0 && s.Rows < s.Requests:
		return fmt.Errorf("%w: no day is left for the requests without rows: set more --days or fewer --rows", errUsage)
	}
	return nil
}

// seeding fills a database: first accounts, keys and prices, then for each past day the sums that retention leaves,
// then the rows of the last days, as a gateway applies them. Each step is a transaction that records its progress.
type seeding struct {
	year
	options  store.Options
	store    *store.DB
	writer   writer
	users    []user
	progress io.Writer
	rowsTook time.Duration
	rowsDone int64
}

func (s *seeding) run(ctx context.Context) (err error) {
	if s.store, err = store.Open(ctx, s.options); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.store.Close()) }()
	if s.writer, err = openWriter(s.options); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.writer.db.Close()) }()
	s.users = s.year.users()
	steps := []func(context.Context) error{s.claim, s.people, s.past, s.recent, s.refuse, s.attribute, s.writer.tidy}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

var errOther = errors.New("the database contains other data, or was filled with other flags: use an empty one, " +
	"or the same flags")

// claim refuses a database that this command did not fill. A gateway may have run with it since then.
func (s *seeding) claim(ctx context.Context) error {
	journals, err := s.writer.journals(ctx)
	if err != nil {
		return err
	}
	switch {
	case slices.Contains(journals, s.journal("history").String()):
		return nil
	case len(journals) > 0:
		return errOther
	}
	accounts, err := s.store.Accounts.List(ctx, "")
	if err != nil {
		return err
	}
	if len(accounts) > 0 {
		return errOther
	}
	return s.store.Ledger.Apply(ctx, &ledger.Batch{Journal: s.journal("history"), Prices: prices()})
}

// people creates the missing accounts and keys.
func (s *seeding) people(ctx context.Context) error {
	there, err := s.store.Accounts.List(ctx, "")
	if err != nil {
		return err
	}
	bar := progress(s.progress, "accounts")
	from := max(0, len(there)-1) // the keys of the last account may be missing
	for n := from; n < s.Accounts; n++ {
		if err := s.person(ctx, n); err != nil {
			return err
		}
		bar(int64(n+1), int64(s.Accounts))
	}
	return nil
}

func (s *seeding) person(ctx context.Context, n int) error {
	z := sizeOf(n)
	a := account.Account{
		ID: accountID(n), Name: fmt.Sprintf("account-%06d", n), OnDisconnect: account.DisconnectCancel,
		Created: s.first(),
	}
	if n%budgetEvery == 0 {
		limit := llm.Money(z.weight*int64(z.keys*z.models)) * llm.USD
		a.Budget = account.Budget{Limit: limit, Period: budget.PeriodMonth}
	}
	err := s.store.Accounts.CreateAccount(ctx, audit.Gateway(), a)
	if err != nil && !errors.Is(err, account.ErrExists) {
		return err
	}
	there, err := s.store.Accounts.Keys(ctx, a.ID)
	if err != nil {
		return err
	}
	for k := len(there); k < z.keys+z.idle; k++ {
		key := account.Key{
			ID: keyID(n, k), AccountID: a.ID, Label: fmt.Sprintf("key %d", k), Last4: "0000",
			Permissions: []account.Permission{account.Chat, account.Uses},
			Created:     s.first().Add(time.Duration(k) * time.Microsecond),
		}
		hash := account.Hash(sha256.Sum256([]byte(key.ID)))
		if err := s.store.Accounts.CreateKey(ctx, audit.Gateway(), key, hash); err != nil {
			return err
		}
	}
	return nil
}

// past writes the days that only have sums.
func (s *seeding) past(ctx context.Context) error {
	journal := s.journal("history")
	done, err := s.store.Ledger.Position(ctx, journal)
	if err != nil {
		return err
	}
	bar := progress(s.progress, "days of sums")
	for day := int(done); day < s.history(); day++ {
		if err := s.writer.day(ctx, journal.String(), day, s.sheets(day)); err != nil {
			return fmt.Errorf("day %d: %w", day, err)
		}
		bar(int64(day+1), int64(s.history()))
	}
	return nil
}

// recent applies the attempts that have rows.
func (s *seeding) recent(ctx context.Context) error {
	journal := s.journal("rows")
	done, err := s.store.Ledger.Position(ctx, journal)
	if err != nil {
		return err
	}
	bar, who, began, most := progress(s.progress, "rows"), newPicker(s.users), time.Now(), s.rowsUntil()
	for n := int64(done); n < most; {
		b := &ledger.Batch{Journal: journal, From: ledger.Position(n)}
		r := rand.New(rand.NewPCG(1, uint64(n)))
		for ; n < min(most, int64(b.From)+seedBatch); n++ {
			b.Settled = append(b.Settled, s.entry(r, who, n))
		}
		b.To = ledger.Position(n)
		if err := s.store.Ledger.Apply(ctx, b); err != nil {
			return err
		}
		s.rowsDone, s.rowsTook = n-int64(done), time.Since(began)
		bar(n, most)
	}
	return nil
}

// attribute sums up usage by end user and tag for the days with request rows, and packs the usage of all accounts.
func (s *seeding) attribute(ctx context.Context) error {
	if err := s.store.Attribution.Attribute(ctx, s.End.AddDate(0, 0, -s.rowDays()), nil); err != nil {
		return err
	}
	return errors.Join(s.store.Attribution.PackRollups(ctx), s.store.Attribution.PackHours(ctx, false))
}

func (s *seeding) summary() string {
	keys := 0
	for n := range s.Accounts {
		keys += sizeOf(n).keys + sizeOf(n).idle
	}
	text := fmt.Sprintf("%d requests of %d accounts with %d keys and %d models on %d days: %d sums a day.\n"+
		"%d days have only sums, with checkpoints, as after retention; the last %d have %d rows.\n",
		s.Requests, s.Accounts, keys, models, s.Days, len(s.users), s.history(), s.rowDays(), s.Rows)
	if s.rowsDone > 0 {
		text += fmt.Sprintf("%d rows took %.0f s: %.0f a second.\n", s.rowsDone, s.rowsTook.Seconds(),
			float64(s.rowsDone)/s.rowsTook.Seconds())
	}
	return text + "Rows, checkpoints, rollups, balances and prices agree: weir ledger verify finds no difference.\n"
}
