package ledger

import (
	"errors"
	"fmt"
	"slices"
)

// Aside is a record of the journal that the database cannot store as what it is. It is stored as it was written, in the
// transaction that moves the position past it: it is not lost, adds nothing to the sums, and stops no other record. If
// it settles an attempt, the attempt stays open, so that the next start settles it as unknown, at its upper bound.
type Aside struct {
	At     Position // after the record
	Record []byte   // its type and payload; only a type of 0 for the start of an epoch
	Reason string   // at most reasonBytes
}

const (
	// reasonBytes bounds the reason of an Aside.
	reasonBytes = 1024
	// mostAside bounds the records that a process sets aside. More of them have a cause in the database, such as a
	// restored copy whose counters are behind. Then the journal keeps them until it is mended. Settlements of attempts
	// that are not open do not count: no database mends them, and a lost part of the journal leaves one for each
	// attempt that was in flight.
	mostAside = 100
)

// String says what the record is, as far as it can be read.
func (a *Aside) String() string {
	if len(a.Record) == 0 {
		return "an empty record"
	}
	kind, payload := recordType(a.Record[0]), a.Record[1:]
	switch kind {
	case 0:
		return "the end of the attempts that a dead process left open"
	case recordPrice:
		p, _ := decodePrice(payload)
		return fmt.Sprintf("price %q", p.Version)
	case recordOpen:
		o, _ := decodeOpen(payload, nil)
		return fmt.Sprintf("opened attempt %s of account %q, key %q, model %q, hold $%s", o.ID, o.Account, o.Key,
			o.FullModel(), o.Hold)
	case recordSettle:
		id, s, _ := decodeSettle(payload, nil)
		return fmt.Sprintf("settled attempt %s, outcome %q, cost $%s", id, s.Outcome, s.Cost)
	}
	return fmt.Sprintf("record of type %d", kind)
}

// SetAside returns the number of the journal's records that are set aside: the sums lack them.
func (l *Ledger) SetAside() int64 { return l.proj.setAside.Load() }

// ErrRejected means that the database does not take a value: no later try of the same batch can succeed.
var ErrRejected = errors.New("ledger: the database rejects a value")

var errNotOpen = errors.New("the settled attempt is not open: its record is missing, or is set aside too")

// doubt finds the record of a rejected batch: smaller and smaller batches are tried, until one record is left.
type doubt struct {
	records int      // one of the next so many records may be rejected; 0 for no doubt
	at      Position // after the record that was rejected alone; 0 for none
	reason  error
	aside   int // records that were set aside since the start, except settlements of attempts that are not open
}

// most returns the most records of the next batch.
func (d *doubt) most() int {
	if d.records == 0 {
		return batchRecords
	}
	return max(1, d.records/2)
}

// applied takes in the database's answer to a batch.
func (d *doubt) applied(b *Batch, err error) {
	switch {
	case err == nil:
		*d = doubt{records: max(0, d.records-b.records), aside: d.aside + len(b.Aside) - b.orphaned}
	case !errors.Is(err, ErrRejected):
	case b.records > 1:
		*d = doubt{records: b.records, aside: d.aside}
	default:
		*d = doubt{records: 1, at: b.To, reason: err, aside: d.aside}
	}
}

// takeOrSetAside adds one record of the journal to the batch as what it is or, if it cannot be stored, set aside.
func (p *projector) takeOrSetAside(rec *record) error {
	full := p.doubt.aside+len(p.batch.Aside)-p.batch.orphaned >= mostAside
	err := p.doubt.reason
	if full || p.doubt.at == 0 || p.doubt.at != rec.end {
		err = p.take(rec) // if it was rejected, it is tried again
	}
	switch {
	case err == nil || errors.Is(err, errNewer):
		return err
	case errors.Is(err, errNotOpen):
		p.batch.orphaned++
	case full:
		return fmt.Errorf("%d records are set aside, and the journal keeps the next one: %w", p.doubt.aside, err)
	}
	p.batch.Aside = append(p.batch.Aside, Aside{
		At: rec.end, Record: slices.Concat([]byte{byte(rec.kind)}, rec.payload),
		Reason: printable(err.Error(), reasonBytes),
	})
	return nil
}

// report counts the records that were set aside, and logs the first one of each batch.
func (p *projector) report(list []Aside) {
	if len(list) == 0 {
		return
	}
	p.setAside.Add(int64(len(list)))
	p.log.Error("a record of the journal cannot be stored and is set aside; the sums lack it: run weir ledger verify",
		"record", list[0].String(), "position", int64(list[0].At), "reason", list[0].Reason, "others", len(list)-1)
}
