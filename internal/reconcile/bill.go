package reconcile

import (
	"encoding/csv"
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

// Bill is what a provider's billing file charges: a CSV file of FOCUS, the FinOps Open Cost and Usage Specification 1.0
// to 1.2 (https://focus.finops.org/focus-specification/v1-2/), which AWS Data Exports, Google Cloud's billing export and
// Microsoft's Cost Management give.
type Bill struct {
	Costs    map[string]llm.Money // billed for usage of the services, by UTC day
	Other    llm.Money            // billed for them that is no usage: taxes, credits, refunds
	Services []string             // all services of the file, A to Z
}

// The columns of FOCUS that are read. All of them are mandatory there.
const (
	billedCost  = "BilledCost" // what is invoiced; a share of what was paid beforehand is in EffectiveCost alone
	currency    = "BillingCurrency"
	category    = "ChargeCategory"
	periodStart = "ChargePeriodStart"
	serviceName = "ServiceName"
)

const (
	maxRecord   = 1 << 20 // bytes
	maxColumns  = 1000
	maxServices = 1000
	maxDays     = 5000
	maxBilled   = 1_000_000_000 // US dollars of a row, and of a day
)

// ReadBill reads a billing file: the rows of those services, in whose names an asterisk stands for any text.
func ReadBill(file io.Reader, services []string) (b Bill, err error) {
	in := &records{file: file, left: maxRecord}
	rows := csv.NewReader(in)
	rows.ReuseRecord = true
	heads, err := rows.Read()
	if errors.Is(err, io.EOF) {
		err = errors.New("the file is empty")
	}
	if err != nil {
		return b, fmt.Errorf("the first line: %w", err)
	}
	at, err := columnsOf(heads)
	if err != nil {
		return b, err
	}
	b.Costs = map[string]llm.Money{}
	seen := map[string]bool{}
	for {
		in.left = maxRecord
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			b.Services = slices.Sorted(maps.Keys(seen))
			return b, nil
		}
		if err != nil && in.left <= 0 {
			err = fmt.Errorf("a row is longer than %d bytes", maxRecord) // csv calls it a missing quotation mark
		}
		if err != nil {
			return b, err
		}
		name := row[at[serviceName]]
		if len(name) > maxModel {
			return b, fmt.Errorf("the name of a service is longer than %d bytes", maxModel)
		}
		if !seen[name] {
			if seen[strings.Clone(name)] = true; len(seen) > maxServices {
				return b, fmt.Errorf("the file has more than %d services", maxServices)
			}
		}
		if !slices.ContainsFunc(services, func(one string) bool { return llm.Matches(one, name) }) {
			continue
		}
		if err := b.add(row, at); err != nil {
			line, _ := rows.FieldPos(0)
			return b, fmt.Errorf("line %d: %w", line, err)
		}
	}
}

// Add adds what another file of the same bill charges.
func (b *Bill) Add(more *Bill) (err error) {
	for day, cost := range more.Costs {
		if b.Costs[day], err = added(b.Costs[day], cost); err != nil {
			return err
		}
	}
	if b.Other, err = added(b.Other, more.Other); err != nil {
		return err
	}
	b.Services = slices.Compact(slices.Sorted(slices.Values(slices.Concat(b.Services, more.Services))))
	return nil
}

// columnsOf are the places of the columns that are read.
func columnsOf(heads []string) (map[string]int, error) {
	if len(heads) > maxColumns {
		return nil, fmt.Errorf("the file has more than %d columns", maxColumns)
	}
	at := map[string]int{}
	for _, name := range []string{billedCost, currency, category, periodStart, serviceName} {
		is := func(head string) bool { return strings.TrimPrefix(head, "\ufeff") == name }
		i := slices.IndexFunc(heads, is)
		if i < 0 {
			return nil, fmt.Errorf("there is no column %s. Export the bill in FOCUS 1.0 or newer, as CSV with a line of "+
				"names", name)
		}
		if slices.ContainsFunc(heads[i+1:], is) {
			return nil, fmt.Errorf("the column %s is there twice", name)
		}
		at[name] = i
	}
	return at, nil
}

func (b *Bill) add(row []string, at map[string]int) error {
	if code := row[at[currency]]; code != "USD" {
		return fmt.Errorf("%s is %.10q, and the ledger is in US dollars. Export the bill in USD", currency, code)
	}
	cost, err := parseBilled(row[at[billedCost]])
	if err != nil {
		return err
	}
	if row[at[category]] != "Usage" {
		b.Other, err = added(b.Other, cost)
		return err
	}
	day, err := parsePeriod(row[at[periodStart]])
	if err != nil {
		return err
	}
	if b.Costs[day], err = added(b.Costs[day], cost); err == nil && len(b.Costs) > maxDays {
		err = fmt.Errorf("the file has more than %d days", maxDays)
	}
	return err
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

// parsePeriod is the UTC day of a time as FOCUS, and the tools that write it as CSV, have it.
func parsePeriod(text string) (string, error) {
	for _, layout := range []string{
		time.RFC3339, time.DateOnly, time.DateTime, time.DateTime + " UTC", time.DateTime + "Z07:00", "2006-01-02T15:04:05",
	} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC().Format(time.DateOnly), nil
		}
	}
	return "", fmt.Errorf("%s is %.60q, no time such as 2026-11-01T00:00:00Z", periodStart, text)
}

// records is a file of which no record is longer than maxRecord.
type records struct {
	file io.Reader
	left int // bytes until the end of the record at the latest
}

func (r *records) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, io.ErrShortBuffer
	}
	n, err := r.file.Read(p)
	r.left -= n
	return n, err
}

// Day is a UTC day by the ledger and by a bill.
type Day struct {
	Day       string
	Ours      llm.Money
	Uncertain llm.Money // what ours may have been beyond that
	Unpriced  bool      // some of ours has no price and adds 0
	Theirs    llm.Money
	Finding   Finding
}

// CompareDays compares the ledger with a bill by day, for bills name models in words of their own.
func CompareDays(ours map[Place]Ours, bill map[string]llm.Money) []Day {
	days := map[string]*Day{}
	of := func(day string) *Day {
		if days[day] == nil {
			days[day] = &Day{Day: day}
		}
		return days[day]
	}
	for at, o := range ours {
		d := of(at.Day)
		d.Ours += o.Cost
		d.Uncertain += o.Uncertain
		d.Unpriced = d.Unpriced || o.Unpriced
	}
	for day, cost := range bill {
		of(day).Theirs = cost
	}
	var list []Day
	for _, day := range slices.Sorted(maps.Keys(days)) {
		d := days[day]
		d.Finding = d.find()
		list = append(list, *d)
	}
	for i := 1; i < len(list); i++ {
		shiftedDays(&list[i-1], &list[i])
	}
	return list
}

func (d *Day) find() Finding {
	switch more, near := d.Theirs-d.Ours, rounding(d.Ours); {
	case more == 0:
		return Agrees
	case -near <= more && more <= near:
		return Rounded
	case more < 0:
		return Less
	case more <= d.Uncertain+near:
		return Unseen
	case d.Unpriced:
		return Unpriced
	}
	return More
}

// shiftedDays sees whether what differs on a day is what differs the other way on the next one.
func shiftedDays(a, b *Day) {
	if a.Finding.Explained() || b.Finding.Explained() || a.Finding == b.Finding || !follows(a.Day, b.Day) {
		return
	}
	both := Day{Ours: a.Ours + b.Ours, Theirs: a.Theirs + b.Theirs}
	if both.find().Explained() {
		a.Finding, b.Finding = Midnight, Midnight
	}
}
