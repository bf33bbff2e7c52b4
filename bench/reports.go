package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/google/uuid"

	"weir/internal/account"
	"weir/internal/api"
	"weir/internal/budget"
	"weir/internal/report"
	"weir/internal/store"
)

// asking measures the reports of a seeded database.
type asking struct {
	store        *store.DB
	all, large   []string // account ids
	budgeted     []string
	from, to     string // its last year
	month, until string // its last whole month
	days30       string // 30 days before its end
	journal      uuid.UUID
	rand         *rand.Rand
}

func reportsCommand(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	fs := flag.NewFlagSet("bench reports", flag.ContinueOnError)
	var at place
	at.flags(fs)
	rounds := fs.Int("rounds", 500, "how often each report is read, for accounts at `random`")
	end := fs.String("end", "2026-11-21", "`date` behind the last day, as in bench seed")
	only := fs.String("only", "", "only read reports with these `words` in their names")
	if err := parse(fs, args, stderr); err != nil {
		return err
	}
	o, err := at.options()
	if err != nil {
		return err
	}
	last, err := time.Parse(time.DateOnly, *end)
	if err != nil || *rounds < 1 {
		return fmt.Errorf("%w: --end must be a date such as 2026-11-21, and --rounds at least 1", errUsage)
	}
	a := &asking{
		journal: uuid.NewSHA1(uuid.NameSpaceURL, []byte("weir:bench:reports")), rand: rand.New(rand.NewPCG(3, 4)),
	}
	a.span(last)
	if a.store, err = store.Open(ctx, o); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.store.Close()) }()
	if err := a.learn(ctx); err != nil {
		return err
	}
	return a.measure(ctx, *rounds, *only, stdout, stderr)
}

func (a *asking) span(end time.Time) {
	month := time.Date(end.Year(), end.Month(), 1, 0, 0, 0, 0, time.UTC)
	a.from, a.to = end.AddDate(-1, 0, 0).Format(time.DateOnly), end.AddDate(0, 0, -1).Format(time.DateOnly)
	a.days30 = end.AddDate(0, 0, -30).Format(time.DateOnly)
	a.month, a.until = month.AddDate(0, -1, 0).Format(time.DateOnly), month.AddDate(0, 0, -1).Format(time.DateOnly)
}

func (a *asking) learn(ctx context.Context) error {
	list, err := a.store.Accounts.List(ctx, "")
	if err != nil {
		return err
	}
	for i := range list {
		a.all = append(a.all, list[i].ID)
		if i%largeEvery == 0 {
			a.large = append(a.large, list[i].ID)
		}
		if list[i].Budget.Limit > 0 {
			a.budgeted = append(a.budgeted, list[i].ID)
		}
	}
	if len(a.all) == 0 || len(a.budgeted) == 0 || a.all[0] != accountID(0) {
		return errors.New("the database was not filled by bench seed")
	}
	return nil
}

// question is one kind of report.
type question struct {
	name string
	of   []string // accounts
	ask  func(ctx context.Context, account string) error
}

func (a *asking) questions() []question {
	year := report.UsesQuery{From: a.from, To: a.to, Limit: 100}
	deep, model, month, thousand := year, year, year, year
	deep.Offset, model.Model, month.From, month.To, thousand.Limit = 9000, modelName(7), a.month, a.until, 1000
	byKey, byHour := year, month
	byKey.By, byHour.By = []report.Dimension{report.ByKey, report.ByMonth}, []report.Dimension{report.ByHour}
	byUser, byTag := year, year
	byUser.From, byUser.By, byUser.Sort = a.days30, []report.Dimension{report.ByUser}, report.MeasureCost
	byTag.From, byTag.By = a.days30, []report.Dimension{report.ByTag("team"), report.ByDay}
	userOfYear, everywhere := year, year
	userOfYear.By, userOfYear.Sort = byUser.By, report.MeasureCost
	everywhere.From, everywhere.By, everywhere.All = a.days30, []report.Dimension{report.ByTag("team")}, true
	byAccount, byDay := year, year
	byAccount.By, byAccount.Sort, byAccount.All = []report.Dimension{report.ByAccount}, report.MeasureCost, true
	byDay.By, byDay.All = []report.Dimension{report.ByModel, report.ByDay}, true
	keysOfAll := byAccount
	keysOfAll.By = []report.Dimension{report.ByKey}
	monthOfAll := byAccount
	monthOfAll.From, monthOfAll.To = a.days30, a.to
	chartOfAll, hoursOfAll, chartOfKeys, speedsOfAll := monthOfAll, monthOfAll, month, monthOfAll
	chartOfAll.By, chartOfAll.Top, chartOfAll.Limit = []report.Dimension{report.ByDay, report.ByAccount}, 5, 1000
	hoursOfAll.By, hoursOfAll.Top, hoursOfAll.Limit = []report.Dimension{report.ByHour, report.ByAccount}, 5, 1000
	hoursOfAll.From = a.to
	chartOfKeys.By, chartOfKeys.Top, chartOfKeys.Limit = []report.Dimension{report.ByDay, report.ByKey}, 5, 1000
	speedsOfAll.By, speedsOfAll.Speeds = []report.Dimension{report.ByModel}, true
	all, failed := report.UsesQuery{Limit: 100}, report.RequestsQuery{Ended: report.EndedError}
	return []question{
		{"uses, no dates, first page, any account", a.all, a.uses(all)},
		{"uses, no dates, first page, large account", a.large, a.uses(all)},
		{"uses, a year, first page, any account", a.all, a.uses(year)},
		{"uses, a year, first page, large account", a.large, a.uses(year)},
		{"uses, a year, 1,000 entries, large account", a.large, a.uses(thousand)},
		{"uses, a year, from entry 9,000, large account", a.large, a.uses(deep)},
		{"uses, a year of one model, large account", a.large, a.uses(model)},
		{"uses, a month, any account", a.all, a.uses(month)},
		{"uses, a month, large account", a.large, a.uses(month)},
		{"uses, a year by key and month, any account", a.all, a.uses(byKey)},
		{"uses, a year by key and month, large account", a.large, a.uses(byKey)},
		{"uses, a month by hour, large account", a.large, a.uses(byHour)},
		{"uses, 30 days by end user, any account", a.all, a.uses(byUser)},
		{"uses, 30 days by end user, large account", a.large, a.uses(byUser)},
		{"uses, 30 days by team and day, large account", a.large, a.uses(byTag)},
		{"uses, a year by end user, any account", a.all, a.uses(userOfYear)},
		{"uses, a year by end user, large account", a.large, a.uses(userOfYear)},
		{"uses, 30 days by team, all accounts together", a.all[:1], a.uses(everywhere)},
		{"uses, a year by account, all accounts", a.all[:1], a.uses(byAccount)},
		{"uses, a year by key, all accounts", a.all[:1], a.uses(keysOfAll)},
		{"uses, 30 days by account, all accounts", a.all[:1], a.uses(monthOfAll)},
		{"uses, a year by model and day, all accounts", a.all[:1], a.uses(byDay)},
		{"chart of 30 days by account, all accounts", a.all[:1], a.uses(chartOfAll)},
		{"chart of a day by hour and account, all accounts", a.all[:1], a.uses(hoursOfAll)},
		{"chart of 30 days by key, large account", a.large, a.uses(chartOfKeys)},
		{"times to first token of 30 days by model, all accounts", a.all[:1], a.uses(speedsOfAll)},
		{"balance of the month", a.budgeted, a.spent(202611)},
		{"balance of all time, as credit reads it", a.all, a.spent(0)},
		{"keys of any account", a.all, a.keys},
		{"keys of a large account, 204", a.large, a.keys},
		{"a key by its hash, with its account", a.all, func(ctx context.Context, id string) error {
			_, _, err := a.store.Accounts.KeyByHash(ctx, account.Hash(sha256.Sum256([]byte(keyOf(id)))))
			return err
		}},
		{"lease of a month's budget, little left", a.budgeted, a.lease},
		{"overview of a month, any account", a.all, a.overview(a.month, a.until)},
		{"overview of a month, large account", a.large, a.overview(a.month, a.until)},
		{"overview of a year, large account", a.large, a.overview(a.from, a.to)},
		{"spending of keys in a month, any account", a.all, of(func(ctx context.Context, id string) (any, error) {
			return a.store.Reports.KeySpend(ctx, id, a.month, a.until, 8)
		})},
		{"spending of keys in a month, large account", a.large, of(func(ctx context.Context, id string) (any, error) {
			return a.store.Reports.KeySpend(ctx, id, a.month, a.until, 8)
		})},
		{"spending of keys in a year, large account", a.large, of(func(ctx context.Context, id string) (any, error) {
			return a.store.Reports.KeySpend(ctx, id, a.from, a.to, 8)
		})},
		{"when keys were used, large account", a.large, of(a.store.Reports.KeysUsed)},
		{"requests, first 50, any account", a.all, a.requests(report.RequestsQuery{})},
		{"requests, first 50, large account", a.large, a.requests(report.RequestsQuery{})},
		{"requests, first 50 before a month, large account", a.large, a.requests(report.RequestsQuery{To: a.until})},
		{"requests of one key, first 50, large account", a.large, a.requestsOfKey},
		{"failed requests (there are none), large account", a.large, a.requests(failed)},
		{"new requests, any account", a.all, of(func(ctx context.Context, id string) (any, error) {
			return a.store.Reports.RequestsSince(ctx, id, report.Cursor{Date: a.to}, 50)
		})},
		{"newest request, found and read whole, any account", a.all, a.newest},
		{"overview of all accounts", a.all[:1], a.accounts},
		{"models without a price in a month", a.all[:1], of(func(ctx context.Context, _ string) (any, error) {
			return a.store.Reports.Unpriced(ctx, report.UnpricedQuery{From: a.month, To: a.until, Limit: 1000})
		})},
		{"heartbeat of a node", a.all[:1], of(func(ctx context.Context, _ string) (any, error) {
			return a.store.Leases.Beat(ctx, budget.Node{Journal: a.journal, Name: "bench", Started: time.Now()})
		})},
		{"list of nodes", a.all[:1], of(func(ctx context.Context, _ string) (any, error) {
			return a.store.Leases.Nodes(ctx)
		})},
	}
}

// of returns a question that ignores its answer.
func of[T any](ask func(context.Context, string) (T, error)) func(context.Context, string) error {
	return func(ctx context.Context, id string) error {
		_, err := ask(ctx, id)
		return err
	}
}

// keyOf returns the first key of an account.
func keyOf(id string) string {
	var n int
	_, _ = fmt.Sscanf(id, "00000000-0000-7000-8000-%d", &n) // other accounts have no such key, as the query reports
	return keyID(n, 0)
}

// uses reads usage as GET /v1/uses does, and encodes the reply.
func (a *asking) uses(q report.UsesQuery) func(context.Context, string) error {
	return func(ctx context.Context, id string) error {
		if !q.All {
			q.Account = id
		}
		page, err := a.store.Reports.Uses(ctx, q)
		if err == nil && page.Count == 0 {
			err = errors.New("no usage: set --end as in bench seed")
		}
		if err == nil {
			_, err = api.EncodeUses(q, page)
		}
		return err
	}
}

// spent reads the balance of a period; 0 is all time.
func (a *asking) spent(period int64) func(context.Context, string) error {
	return func(ctx context.Context, id string) error {
		_, err := a.store.Ledger.Spent(ctx, id, period)
		return err
	}
}

func (a *asking) keys(ctx context.Context, id string) error {
	list, err := a.store.Accounts.Keys(ctx, id)
	if err == nil && len(list) == 0 {
		err = errors.New("no keys")
	}
	return err
}

func (a *asking) overview(from, to string) func(context.Context, string) error {
	return func(ctx context.Context, id string) error {
		v, err := a.store.Reports.Overview(ctx, report.OverviewQuery{Account: id, From: from, To: to, Models: 8})
		if err == nil && len(v.Days) == 0 {
			err = errors.New("no days")
		}
		return err
	}
}

// requests reads a page of 50.
func (a *asking) requests(q report.RequestsQuery) func(context.Context, string) error {
	return func(ctx context.Context, id string) error {
		q.Account, q.Limit = id, 50
		_, _, err := a.store.Reports.Requests(ctx, q)
		return err
	}
}

func (a *asking) requestsOfKey(ctx context.Context, id string) error {
	return a.requests(report.RequestsQuery{Key: keyOf(id)})(ctx, id)
}

func (a *asking) newest(ctx context.Context, id string) error {
	list, _, err := a.store.Reports.Requests(ctx, report.RequestsQuery{Account: id, Limit: 1})
	if err == nil && len(list) > 0 {
		_, _, err = a.store.Reports.Request(ctx, id, list[0].ID)
	}
	return err
}

// accounts reads the overview of all accounts for the last whole month.
func (a *asking) accounts(ctx context.Context, _ string) error {
	month, err := time.Parse(time.DateOnly, a.month)
	if err == nil {
		_, err = a.store.Reports.AccountsOverview(ctx, budget.PeriodMonth.Number(month))
	}
	return err
}

// lease requests a lease of one nano-dollar, as a node does near a limit.
func (a *asking) lease(ctx context.Context, id string) error {
	_, err := a.store.Leases.Lease(ctx, budget.LeaseRequest{
		Journal: a.journal, Budget: budget.ID{Scope: id, Period: 202611}, Unknown: true, Least: 1, Most: 1,
	})
	return err
}

func (a *asking) measure(ctx context.Context, rounds int, only string, stdout, stderr io.Writer) error {
	t := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "%d times each, of accounts at random\tp50 ms\tp99 ms\tmost ms\n", rounds)
	questions := slices.DeleteFunc(a.questions(), func(q question) bool { return !strings.Contains(q.name, only) })
	bar := progress(stderr, "questions")
	for i := range questions {
		q := &questions[i]
		var took durations
		for range rounds {
			began := time.Now()
			if err := q.ask(ctx, q.of[a.rand.IntN(len(q.of))]); err != nil {
				return fmt.Errorf("%s: %w", q.name, err)
			}
			took = append(took, time.Since(began))
		}
		h := took.spread()
		fmt.Fprintf(t, "%s\t%.2f\t%.2f\t%.2f\n", q.name, h.P50/1e3, h.P99/1e3, h.Max/1e3)
		bar(int64(i+1), int64(len(questions)))
	}
	return t.Flush()
}
