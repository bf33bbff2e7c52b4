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

// Bill is what a provider's billing file charges: a file of FOCUS, the FinOps Open Cost and Usage Specification 1.0
// and newer (https://focus.finops.org/focus-specification/), which AWS Data Exports, Google Cloud's billing export and
// Microsoft's Cost Management give.
type Bill struct {
	Costs    map[string]llm.Money // billed for usage of the services, by UTC day
	Periods  map[Period]llm.Money // billed for usage in more than a day, such as a month
	Other    llm.Money            // billed for them that is no usage: taxes, credits, refunds
	Services []string             // all services of the file, A to Z
}

// Period is more than a day: the first and the last UTC day.
type Period struct{ From, To string }

// The columns of FOCUS that are read. All of them are mandatory there; a file without periodEnd is taken for one by days.
const (
	billedCost  = "BilledCost" // what is invoiced; a share of what was paid beforehand is in EffectiveCost alone
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
	maxBilled   = 1_000_000_000 // US dollars of a row, and of a day
)

// ReadBill reads a billing file, whatever its name is: CSV in UTF-8 or UTF-16 with commas, semicolons, tabs or bars between
// cells, or Parquet; or that in gzip or zip. It reads the rows of those services, in whose names an asterisk stands for
// any text.
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
	seen     map[string]bool // names of services
	left     int64           // bytes that may yet be unpacked
}

// table is what a file has: the names of its columns, and its rows one after the other until io.EOF, each with its place,
// such as "line 7". A row is good until the next one.
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
			continue // the line of names of a file behind another one
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

// wants notes the name of a service, and reports whether its rows are asked for.
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

// Add adds what another file of the same bill charges.
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

// Within is what is billed for those days. A period of which they have a part alone is an error: nobody knows how much of
// its cost they have.
func (b *Bill) Within(from, to string) (Bill, error) {
	within := Bill{Costs: maps.Clone(b.Costs), Periods: maps.Clone(b.Periods), Other: b.Other, Services: b.Services}
	maps.DeleteFunc(within.Costs, func(day string, _ llm.Money) bool { return day < from || day > to })
	maps.DeleteFunc(within.Periods, func(p Period, _ llm.Money) bool { return p.To < from || p.From > to })
	for p := range within.Periods {
		if p.From < from || p.To > to {
			return within, fmt.Errorf("a row of the bill is of all days from %s to %s, and the comparison from %s to %s: "+
				"compare all days of it, or none", p.From, p.To, from, to)
		}
	}
	return within, nil
}

// Days are the first and the last day that is billed; empty where none is.
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

// columnsOf are the places of the columns that are read, by their names in FOCUS; -1 for periodEnd where it is not there.
// Tools write names in lower case, and with underscores between words.
func columnsOf(heads []string) (map[string]int, error) {
	if len(heads) > maxColumns {
		return nil, fmt.Errorf("the file has more than %d columns", maxColumns)
	}
	at := map[string]int{}
	for _, name := range []string{billedCost, currency, category, periodStart, periodEnd, serviceName} {
		is := func(head string) bool { return plainHead(head) == strings.ToLower(name) }
		i := slices.IndexFunc(heads, is)
		if i < 0 && name != periodEnd {
			return nil, fmt.Errorf("there is no column %s. The columns are %s. Export the bill in FOCUS 1.0 or newer, as CSV "+
				"with a line of names or as Parquet", name, someOf(heads))
		}
		if i >= 0 && slices.ContainsFunc(heads[i+1:], is) {
			return nil, fmt.Errorf("the column %s is there twice", name)
		}
		at[name] = i
	}
	return at, nil
}

// plainHead is the name of a column without what tools change.
func plainHead(head string) string {
	return strings.ToLower(strings.ReplaceAll(strings.TrimSpace(strings.TrimPrefix(head, "\ufeff")), "_", ""))
}

// someOf are some of the names of a list.
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

// periodOf is the UTC day on which what a row charges for began, or all days where it took longer than one.
func periodOf(row []string, at map[string]int) (p Period, err error) {
	from, err := parseTime(periodStart, row[at[periodStart]])
	if err != nil {
		return p, err
	}
	p = Period{from.Format(time.DateOnly), from.Format(time.DateOnly)}
	if at[periodEnd] < 0 || row[at[periodEnd]] == "" {
		return p, nil
	}
	to, err := parseTime(periodEnd, row[at[periodEnd]]) // the first moment behind it
	if err != nil {
		return p, err
	}
	if to.Sub(from) > 24*time.Hour {
		p.To = to.Add(-1).Format(time.DateOnly)
	}
	switch {
	case to.Before(from):
		return p, fmt.Errorf("%s %.60q lies before %s %.60q. Export the bill again", periodEnd, row[at[periodEnd]], periodStart,
			row[at[periodStart]])
	case to.Sub(from) > maxPeriod:
		return p, fmt.Errorf("from %s to %s are more than 400 days. Export the bill by day or month", p.From, p.To)
	}
	return p, nil
}

func added(sum, cost llm.Money) (llm.Money, error) {
	if sum += cost; sum > maxBilled*llm.USD || sum < -maxBilled*llm.USD {
		return sum, fmt.Errorf("what is billed is more than $%d", maxBilled)
	}
	return sum, nil
}

// amountForm is the numeric format of FOCUS, and of vendors' reports. Its length and exponent are bounded, as they are what
// parsing costs.
var amountForm = regexp.MustCompile(`^[+-]?[0-9]{1,20}(\.[0-9]{0,100})?([eE][+-]?[0-9]{1,2})?$`)

// parseAmount is an amount of which a dollar has so many parts, to the nearest nano-dollar. It reports false where that is
// no number, or not within maxBilled.
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

// parseBilled is a cost, to the nano-dollar.
func parseBilled(text string) (llm.Money, error) {
	cost, ok := parseAmount(text, 1)
	if !ok {
		return 0, fmt.Errorf("%s is %.60q, which is no number such as 0.0125, or not within $%d", billedCost, text, maxBilled)
	}
	return cost, nil
}

// parseTime reads a time as FOCUS has it, and as tools write it: with a space for the T, without seconds, with fractions
// of them, with a zone of hours alone, or without any, which is UTC.
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
	return time.Time{}, fmt.Errorf("%s is %.60q, no time such as 2026-11-01T00:00:00Z", column, text)
}
