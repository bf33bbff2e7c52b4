//go:build unix

package crashtest_test

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"

	"weir/internal/ledger"
	"weir/internal/llm"
)

// books holds all records at the end of the load.
type books struct {
	served   []served  // the provider's ledger
	rows     []row     // the gateway's
	uses     []use     // the gateway's reports
	totals   []int64   // its total of requests, by account
	receipts []receipt // the clients' records
	lives    []life
	prices   map[string]llm.Price
	verified verification
	logged   []string   // the faults that the gateway itself found
	cut      bool       // the database was cut off at times
	outages  []interval // of the provider
}

// interval is a period between two times.
type interval struct{ from, to time.Time }

// life is one process of the gateway. It has ended when the books are read.
type life struct {
	plan         plan
	node         int // of several gateways, which one
	strict       bool
	began, ended time.Time
	ready        time.Time // zero if it died before it answered
	killed       bool
}

// served is a record of the simulator's ledger.
type served struct {
	Attempt  string    `json:"attempt"`
	Dialect  string    `json:"dialect"`
	Model    string    `json:"model"`
	Stream   bool      `json:"stream"`
	Outcome  string    `json:"outcome"`
	Fault    string    `json:"fault"`
	Status   int       `json:"status"`
	Usage    classes   `json:"usage"`
	Cost     llm.Money `json:"cost"` // the provider's own figure, if any
	Reported *classes  `json:"reported"`
	Canceled bool      `json:"canceled"`
	Tier     string    `json:"tier"` // as it was served
}

// truth returns the provider's charge: its own figure, or its usage at that price.
func (s *served) truth(p *llm.Price) llm.Money {
	if s.Cost > 0 {
		return s.Cost
	}
	u := llm.Usage(s.Usage)
	if u.InputTokens() > 0 {
		u[llm.Requests] = 1
	}
	return p.Cost(&u, s.Tier)
}

// classes is usage by the names of its classes.
type classes llm.Usage

// UnmarshalJSON reads an object of counts by class.
func (u *classes) UnmarshalJSON(b []byte) error {
	var counts map[string]int64
	if err := json.Unmarshal(b, &counts); err != nil {
		return err
	}
	for name, n := range counts {
		c, ok := llm.ParseClass(name)
		if !ok {
			return fmt.Errorf("unknown class %q", name)
		}
		u[c] = n
	}
	return nil
}

// verification is the answer of "weir ledger verify --json".
type verification struct {
	Rows, Open, Unknown int64
	Differences         []any
	SetAside            []any `json:"set_aside"` // records that could not be stored
	Gap                 int64 `json:"journal_gap_bytes"`
	Unprojected         int64 `json:"unprojected_records"`
}

// use is an entry of GET /v1/uses.
type use struct {
	account  string
	Date     string    `json:"date"`
	Model    string    `json:"model"`
	Tokens   int64     `json:"tokens"`
	Requests int64     `json:"requests"`
	Cost     llm.Money `json:"cost"`
	Unpriced bool      `json:"unpriced"`
}

// row is an attempt in the gateway's ledger.
type row struct {
	id                                    ledger.AttemptID
	node                                  int // the node that opened it, if there are several
	opened                                time.Time
	account, key, requested, model, price string
	outcome                               ledger.Outcome
	provenance                            ledger.Provenance
	counts, stream                        bool
	duration                              time.Duration // cut to milliseconds
	cost, atMost                          llm.Money
	usage                                 llm.Usage
	tags                                  string
}

// readRows reads the output of "weir ledger export --format csv".
func readRows(from io.Reader) ([]row, error) {
	lines := csv.NewReader(from)
	lines.ReuseRecord = true
	first, err := lines.Read()
	if err != nil {
		return nil, err
	}
	heads := append([]string(nil), first...)
	var rows []row
	for {
		fields, err := lines.Read()
		if err == io.EOF {
			return rows, nil
		}
		if err != nil {
			return nil, err
		}
		var r row
		for i, name := range heads {
			if err := r.set(name, fields[i]); err != nil {
				return nil, fmt.Errorf("line %d, %s: %w", len(rows)+2, name, err)
			}
		}
		rows = append(rows, r)
	}
}

// set sets a field by the name of its column, and ignores unused columns.
func (r *row) set(name, text string) (err error) {
	switch name {
	case "attempt":
		r.id, err = ledger.ParseAttemptID(text)
	case "opened":
		r.opened, err = time.Parse(time.RFC3339Nano, text)
	case "account":
		r.account = text
	case "key":
		r.key = text
	case "requested_model":
		r.requested = text
	case "model":
		r.model = text
	case "tags":
		r.tags = text
	case "price":
		r.price = text
	case "outcome":
		r.outcome = ledger.Outcome(text)
	case "provenance":
		r.provenance = ledger.Provenance(text)
	case "counts":
		r.counts, err = strconv.ParseBool(text)
	case "stream":
		r.stream, err = strconv.ParseBool(text)
	case "duration_ms":
		r.duration, err = time.ParseDuration(text + "ms")
	case "cost_usd":
		r.cost, err = parseCost(text)
	case "cost_at_most_usd":
		r.atMost, err = parseCost(text)
	default:
		if c, ok := llm.ParseClass(name); ok {
			r.usage[c], err = strconv.ParseInt(text, 10, 64)
		}
	}
	return err
}

// parseCost reads an amount; an attempt without a price has none.
func parseCost(text string) (llm.Money, error) {
	if text == "" {
		return 0, nil
	}
	return llm.ParseMoney(text)
}
