package reconcile

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"time"

	"weir/internal/llm"
)

// Bill holds the charges of a provider's billing file in FOCUS, the FinOps Open Cost and Usage Specification, 1.0 or
// newer (https://focus.finops.org/focus-specification/). AWS Data Exports, Google Cloud's billing export and
// Microsoft's Cost Management produce such files.
type Bill struct {
	Costs    map[string]llm.Money // billed usage of the services, by UTC day
	Periods  map[Period]llm.Money // billed usage of periods longer than a day, such as a month
	Other    llm.Money            // billed items other than usage: taxes, credits, refunds
	Services []string             // all services of the file, A to Z
}

// Period is longer than a day: the first and the last UTC day.
type Period struct{ From, To string }

// These are the columns of FOCUS that are read. All are mandatory there. Rows of a file without periodEnd count as
// single days.
const (
	billedCost  = "BilledCost" // the invoiced amount; only EffectiveCost includes a share of prepayments
	currency    = "BillingCurrency"
	category    = "ChargeCategory"
	periodStart = "ChargePeriodStart"
	periodEnd   = "ChargePeriodEnd"
	serviceName = "ServiceName"
)

const (
	maxRecord   = 1 << 20 // bytes
	maxColumns  = 1000
	maxServices = 1000
	maxDays     = 5000
	maxPeriod   = 400 * 24 * time.Hour
	maxBilled   = 1_000_000_000 // US dollars per row, and per day
)

// ReadBill reads a billing file and detects its format: CSV in UTF-8 or UTF-16 with commas, semicolons, tabs or bars as
// separators, Parquet, or one of these in gzip or zip. It reads only the rows of the given services; an asterisk in
// their names matches any text.
func ReadBill(file io.Reader, services []string) (b Bill, err error) {
	b.Costs, b.Periods = map[string]llm.Money{}, map[Period]llm.Money{}
	r := billReader{bill: &b, services: services, seen: map[string]bool{}, left: maxUnpacked}
	err = r.unpack(file, 0)
	b.Services = slices.Sorted(maps.Keys(r.seen))
	return b, err
}

// billReader adds rows to a bill.
type billReader struct {
	bill     *Bill
	services []string
	seen     map[string]bool // service names so far
	left     int64           // bytes that may still be unpacked
}

// table holds a file's column names, and returns its rows until io.EOF, each with its place, such as "line 7". A row is
// valid until the next call.
type table struct {
	heads []string
	next  func() (row []string, place string, err error)
}

// read adds the rows of a table.
func (r *billReader) read(t *table, at map[string]int) error {
	for {
		row, place, err := t.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name := row[at[serviceName]]
		if name == t.heads[at[serviceName]] {
			continue // the header of a concatenated file
		}
		if wanted, err := r.wants(name); err != nil {
			return err
		} else if !wanted {
			continue
		}
		if err := r.bill.add(row, at); err != nil {
			return fmt.Errorf("%s: %w", place, err)
		}
	}
}

// wants records the name of a service, and reports whether its rows were requested.
func (r *billReader) wants(name string) (bool, error) {
	if len(name) > maxModel {
		return false, fmt.Errorf("the name of a service is longer than %d bytes", maxModel)
	}
	if !r.seen[name] {
		if r.seen[strings.Clone(name)] = true; len(r.seen) > maxServices {
			return false, fmt.Errorf("the file has more than %d services", maxServices)
		}
	}
	return slices.ContainsFunc(r.services, func(one string) bool { return llm.Matches(one, name) }), nil
}

// Add adds the charges of another file of the same bill.
func (b *Bill) Add(more *Bill) (err error) {
	for day, cost := range more.Costs {
		if b.Costs[day], err = added(b.Costs[day], cost); err != nil {
			return err
		}
	}
	for period, cost := range more.Periods {
		if b.Periods[period], err = added(b.Periods[period], cost); err != nil {
			return err
		}
	}
	if b.Other, err = added(b.Other, more.Other); err != nil {
		return err
	}
	b.Services = slices.Compact(slices.Sorted(slices.Values(slices.Concat(b.Services, more.Services))))
	return nil
}

// Within returns the charges of those days. A period that is only partly within them is an error, because its cost
// cannot be divided.
func (b *Bill) Within(from, to string) (Bill, error) {
	within := Bill{Costs: maps.Clone(b.Costs), Periods: maps.Clone(b.Periods), Other: b.Other, Services: b.Services}
	maps.DeleteFunc(within.Costs, func(day string, _ llm.Money) bool { return day < from || day > to })
	maps.DeleteFunc(within.Periods, func(p Period, _ llm.Money) bool { return p.To < from || p.From > to })
	for p := range within.Periods {
		if p.From < from || p.To > to {
			return within, fmt.Errorf("a row of the bill covers %s to %s, but the comparison covers %s to %s: "+
				"compare all days of the row, or none", p.From, p.To, from, to)
		}
	}
	return within, nil
}

// Days returns the first and the last billed day; empty if there is none.
func (b *Bill) Days() (from, to string) {
	days := slices.Collect(maps.Keys(b.Costs))
	for p := range b.Periods {
		days = append(days, p.From, p.To)
	}
	if len(days) == 0 {
		return "", ""
	}
	return slices.Min(days), slices.Max(days)
}

// columnsOf returns the indexes of the columns by their names in FOCUS; -1 for a missing periodEnd. It also accepts the
// variants that tools write: lower case, with underscores between words.
func columnsOf(heads []string) (map[string]int, error) {
	if len(heads) > maxColumns {
		return nil, fmt.Errorf("the file has more than %d columns", maxColumns)
	}
	at := map[string]int{}
	for _, name := range []string{billedCost, currency, category, periodStart, periodEnd, serviceName} {
		is := func(head string) bool { return plainHead(head) == strings.ToLower(name) }
		i := slices.IndexFunc(heads, is)
		if i < 0 && name != periodEnd {
			return nil, fmt.Errorf("the column %s is missing; the file has %s. Export the bill in FOCUS 1.0 or newer, "+
				"as CSV with a header or as Parquet", name, someOf(heads))
		}
		if i >= 0 && slices.ContainsFunc(heads[i+1:], is) {
			return nil, fmt.Errorf("the column %s appears twice", name)
		}
		at[name] = i
	}
	return at, nil
}

// plainHead returns the name of a column without such variations.
func plainHead(head string) string {
	return strings.ToLower(strings.ReplaceAll(strings.TrimSpace(strings.TrimPrefix(head, "\ufeff")), "_", ""))
}

// someOf lists the first names.
func someOf(names []string) string {
	const most = 20
	var list []string
	for _, name := range names[:min(len(names), most)] {
		list = append(list, fmt.Sprintf("%.40q", name))
	}
	if more := len(names) - most; more > 0 {
		list = append(list, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(list, ", ")
}

func (b *Bill) add(row []string, at map[string]int) error {
	if code := row[at[currency]]; code != "USD" {
		return fmt.Errorf("%s is %.10q, and the ledger is in US dollars. Export the bill in USD", currency, code)
	}
	cost, err := parseBilled(row[at[billedCost]])
	if err != nil {
		return err
	}
	if !strings.EqualFold(row[at[category]], "Usage") {
		b.Other, err = added(b.Other, cost)
		return err
	}
	period, err := periodOf(row, at)
	if err != nil {
		return err
	}
	if period.To != period.From {
		b.Periods[period], err = added(b.Periods[period], cost)
	} else {
		b.Costs[period.From], err = added(b.Costs[period.From], cost)
	}
	if err == nil && len(b.Costs)+len(b.Periods) > maxDays {
		err = fmt.Errorf("the file has more than %d days and periods", maxDays)
	}
	return err
}

// periodOf returns the UTC day on which the row's charge period began, or all days of a longer period.
func periodOf(row []string, at map[string]int) (p Period, err error) {
	from, err := parseTime(periodStart, row[at[periodStart]])
	if err != nil {
		return p, err
	}
	p = Period{from.Format(time.DateOnly), from.Format(time.DateOnly)}
	if at[periodEnd] < 0 || row[at[periodEnd]] == "" {
		return p, nil
	}
	to, err := parseTime(periodEnd, row[at[periodEnd]]) // exclusive
	if err != nil {
		return p, err
	}
	if to.Sub(from) > 24*time.Hour {
		p.To = to.Add(-1).Format(time.DateOnly)
	}
	switch {
	case to.Before(from):
		return p, fmt.Errorf("%s %.60q is before %s %.60q. Export the bill again", periodEnd, row[at[periodEnd]],
			periodStart, row[at[periodStart]])
	case to.Sub(from) > maxPeriod:
		return p, fmt.Errorf("a row covers %s to %s, more than 400 days. Export the bill by day or month", p.From, p.To)
	}
	return p, nil
}

func added(sum, cost llm.Money) (llm.Money, error) {
	if sum += cost; sum > maxBilled*llm.USD || sum < -maxBilled*llm.USD {
		return sum, fmt.Errorf("the billed amount is more than $%d", maxBilled)
	}
	return sum, nil
}

// amountForm matches the numeric format of FOCUS and of vendors' reports. It bounds the length and the exponent,
// because they determine the cost of parsing.
var amountForm = regexp.MustCompile(`^[+-]?[0-9]{1,20}(\.[0-9]{0,100})?([eE][+-]?[0-9]{1,2})?$`)

// parseAmount parses an amount in a unit that is 1/parts of a dollar, to the nearest nano-dollar. It returns false for
// an invalid number and for amounts beyond maxBilled.
func parseAmount(text string, parts int64) (llm.Money, bool) {
	if !amountForm.MatchString(text) {
		return 0, false
	}
	usd, ok := new(big.Rat).SetString(text)
	if !ok {
		return 0, false
	}
	usd.Quo(usd, big.NewRat(parts, 1))
	if most := big.NewRat(maxBilled, 1); usd.Cmp(most) > 0 || usd.Cmp(most.Neg(most)) < 0 {
		return 0, false
	}
	nanos, ok := new(big.Int).SetString(usd.Mul(usd, big.NewRat(int64(llm.USD), 1)).FloatString(0), 10)
	return llm.Money(nanos.Int64()), ok
}

// parseBilled parses a cost, to the nano-dollar.
func parseBilled(text string) (llm.Money, error) {
	cost, ok := parseAmount(text, 1)
	if !ok {
		return 0, fmt.Errorf("%s is %.60q; it must be a number such as 0.0125, at most $%d", billedCost, text,
			maxBilled)
	}
	return cost, nil
}

// parseTime parses a time in the format of FOCUS and in the variants that tools write: with a space for the T, without
// seconds, with fractional seconds, with a zone in hours, or without a zone, which means UTC.
func parseTime(column, text string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC(), nil
		}
	}
	for _, clock := range []string{"15:04:05", "15:04"} {
		for _, zone := range []string{"Z07:00", "", " UTC", "-07", "-0700", " -0700 UTC", " Z07:00"} {
			for _, between := range []string{"T", " "} {
				if at, err := time.Parse(time.DateOnly+between+clock+zone, text); err == nil {
					return at.UTC(), nil
				}
			}
		}
	}
	return time.Time{}, fmt.Errorf("%s is %.60q; it must be a time such as 2026-11-01T00:00:00Z", column, text)
}
