package ledger

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// The packed form of an attempt is a byte with the version and then fields: a number, a length, and as many bytes. The
// fields fieldOpening and fieldSettlement have the fields of the journal's records after the id. A reader skips the
// fields that it does not know, and Repack keeps them.
const (
	packedVersion   = 1
	fieldOpening    = 1
	fieldSettlement = 2 // absent for an open attempt
)

// maxPacked bounds the bytes of a packed attempt that Unpack accepts: those of both records.
const maxPacked = 2 * maxRecord

// AppendPacked appends the packed form of an attempt and its settlement. It omits the id and the texts that many
// attempts share: the account, the key, all names of the model, the region, the versions of prices, the finish reason,
// the tier, and the code and status of an error. It also omits Ask, and fields that are not in the journal.
func AppendPacked(dst []byte, a *Attempt, s *Settlement) []byte {
	short := *a
	short.Account, short.Key, short.Requested, short.Provider, short.Model, short.Region = "", "", "", "", "", ""
	short.Price.Version = ""
	if a.Terms != nil {
		terms := *a.Terms
		terms.Price.Version, short.Terms = "", &terms
	}
	base := TimeOf(a.ID.Request)
	short.Opened, short.Arrived = a.Opened.Add(-base), a.Arrived.Add(-base)
	var buf [256]byte
	dst = appendField(append(dst, packedVersion), fieldOpening, appendOpening(buf[:0], &short))
	if s.Outcome == OutcomeOpen {
		return dst
	}
	settled := *s
	settled.Ask, settled.Finish, settled.Tier, settled.Code, settled.Status = false, "", "", "", 0
	settled.Served.Model, settled.Served.Price = "", nil
	return appendField(dst, fieldSettlement, appendSettlement(buf[:0], &settled))
}

// Repack returns the packed form with the fields of before that this program does not know.
func Repack(before []byte, a *Attempt, s *Settlement) ([]byte, error) {
	dst := AppendPacked(nil, a, s)
	err := eachField(before, func(number uint64, value []byte) error {
		if number != fieldOpening && number != fieldSettlement {
			dst = appendField(dst, number, value)
		}
		return nil
	})
	return dst, err
}

// Unpack decodes the packed form into an attempt that has its id and the texts that AppendPacked omits. It fails with
// errPacked for bytes of another form, and for more than 128 KiB.
func Unpack(packed []byte, e *Entry) error {
	var a Attempt
	var s Settlement
	s.Outcome = OutcomeOpen
	opened, settled := false, false
	err := eachField(packed, func(number uint64, value []byte) error {
		d := decoder{b: value}
		switch number {
		case fieldOpening:
			d.opening(&a, nil)
			opened = true
		case fieldSettlement:
			d.settlement(&s, nil)
			settled = true
		}
		return d.err
	})
	if err == nil && (!opened || settled && s.Outcome == OutcomeOpen) {
		err = errShort
	}
	if err != nil {
		return fmt.Errorf("attempt %s: %w: %w", e.ID, errPacked, err)
	}
	s.Finish, s.Tier, s.Code, s.Status, s.Served.Model = e.Finish, e.Tier, e.Code, e.Status, e.Served.Model
	e.Settlement = s
	base := TimeOf(e.ID.Request)
	e.Opened, e.Arrived = a.Opened.Add(base), a.Arrived.Add(base)
	e.Stream, e.Attribution, e.Parts, e.Bound, e.Hold = a.Stream, a.Attribution, a.Parts, a.Bound, a.Hold
	if a.Terms != nil {
		if e.Terms != nil { // with the version of its price
			a.Terms.Price.Version = e.Terms.Price.Version
		}
		e.ChargeHold = a.ChargeHold
	}
	e.Terms = a.Terms
	return nil
}

var (
	errPacked        = errors.New("not a packed attempt that this weir can read: it is damaged, or of a newer weir")
	errPackedLong    = errors.New("longer than 128 KiB")
	errPackedVersion = errors.New("another version of the form")
)

func appendField(dst []byte, number uint64, value []byte) []byte {
	dst = binary.AppendUvarint(dst, number)
	return append(binary.AppendUvarint(dst, uint64(len(value))), value...)
}

// eachField calls take with each field until it returns an error.
func eachField(packed []byte, take func(number uint64, value []byte) error) error {
	switch {
	case len(packed) > maxPacked:
		return errPackedLong
	case len(packed) == 0:
		return errShort
	case packed[0] != packedVersion:
		return errPackedVersion
	}
	d := decoder{b: packed[1:]}
	for len(d.b) > 0 {
		number := d.uvarint()
		value := d.take(d.uvarint())
		if d.err != nil {
			return d.err
		}
		if err := take(number, value); err != nil {
			return err
		}
	}
	return nil
}

// lastTime bounds the times that TimeOf returns, in milliseconds: in the year 2109.
const lastTime = 1 << 42

// TimeOf returns the time in a UUID of version 7, since 1970, and 0 for others: times of an attempt are stored as the
// difference to it.
func TimeOf(id uuid.UUID) time.Duration {
	ms := binary.BigEndian.Uint64(id[:]) >> 16
	if id.Version() != 7 || ms >= lastTime {
		return 0
	}
	return time.Duration(ms) * time.Millisecond
}
