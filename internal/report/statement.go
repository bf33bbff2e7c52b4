package report

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"weir/internal/llm"
)

// Statement records an account's charges for a month at the time when the statement was closed. It never changes: later
// attempts and corrections of its days appear in the next statement.
type Statement struct {
	Account string // id
	Number  int64  // sequence number in the account, from 1
	Month   string // YYYY-MM; consecutive statements have consecutive months
	Closed  time.Time
	Lines   []StatementLine // sorted by date and model
	Hash    string          // see Sum
}

// StatementLine sums up a date and a model. A line of a date before the month holds the changes since the previous
// statement, and may be negative.
type StatementLine struct {
	Date      string
	Model     string
	Requests  int64
	Tokens    int64
	Charge    llm.Money
	Uncertain llm.Money // amount by which the charge may still grow
	// Unpriced is the number of attempts partly without a price, which adds 0 to the charge. It is negative if attempts
	// of earlier statements have been priced since.
	Unpriced int64
}

// AtMost returns the upper bound of the charge.
func (l *StatementLine) AtMost() llm.Money { return l.Charge + l.Uncertain }

// IsCorrection reports whether a line has a date before the statement's month.
func (s *Statement) IsCorrection(l *StatementLine) bool { return l.Date < s.Month }

// Totals adds up all lines, and those of dates before the month. Corrections of earlier statements do not reduce the
// number of unpriced attempts.
func (s *Statement) Totals() (all, corrections Totals) {
	for i := range s.Lines {
		l := &s.Lines[i]
		t := Totals{
			Tokens: l.Tokens, Requests: l.Requests, Cost: l.Charge, Uncertain: l.Uncertain,
			Unpriced: max(0, l.Unpriced),
		}
		if all.Add(&t); s.IsCorrection(l) {
			corrections.Add(&t)
		}
	}
	return all, corrections
}

// Sum returns the hexadecimal SHA-256 of the statement with all its lines and of the hash of the account's previous
// statement, which is empty for the first one. It includes the number of unpriced attempts only if it is not 0, because
// the first statements did not have it.
func (s *Statement) Sum(before string) string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %d %q %d\n", before, s.Account, s.Number, s.Month, s.Closed.UnixMicro())
	for i := range s.Lines {
		l := &s.Lines[i]
		fmt.Fprintf(h, "%q %q %d %d %d %d", l.Date, l.Model, l.Requests, l.Tokens, int64(l.Charge), int64(l.Uncertain))
		if l.Unpriced != 0 {
			fmt.Fprintf(h, " %d", l.Unpriced)
		}
		fmt.Fprintln(h)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// StatementFault describes a fault of a statement.
type StatementFault struct {
	Account string
	Number  int64
	What    string
}
