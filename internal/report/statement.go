package report

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"weir/internal/llm"
)

// Statement is what an account is charged for a month, as it was when the statement was closed. It never changes: what is
// decided or comes later about its days is in the next one.
type Statement struct {
	Account string // id
	Number  int64  // of the account's, from 1
	Month   string // YYYY-MM, each the one after that of the statement before
	Closed  time.Time
	Lines   []StatementLine // by date and model
	Hash    string          // see Sum
}

// StatementLine is what a date and a model add. On a date before the month it is what was added since the statement before,
// and may be negative.
type StatementLine struct {
	Date      string
	Model     string
	Requests  int64
	Tokens    int64
	Charge    llm.Money
	Uncertain llm.Money // what the charge may come to beyond it
	// Unpriced are attempts of which something has no price and adds 0 to the charge; below 0 for those of statements before
	// that have been corrected since.
	Unpriced int64
}

// AtMost is the upper bound of the charge.
func (l *StatementLine) AtMost() llm.Money { return l.Charge + l.Uncertain }

// IsCorrection reports whether a line is of a date before the statement's month.
func (s *Statement) IsCorrection(l *StatementLine) bool { return l.Date < s.Month }

// Totals adds up the lines, and those of dates before the month. What was corrected of statements before takes no mark away.
func (s *Statement) Totals() (all, corrections Totals) {
	for i := range s.Lines {
		l := &s.Lines[i]
		t := Totals{Tokens: l.Tokens, Requests: l.Requests, Cost: l.Charge, Uncertain: l.Uncertain, Unpriced: max(0, l.Unpriced)}
		if all.Add(&t); s.IsCorrection(l) {
			corrections.Add(&t)
		}
	}
	return all, corrections
}

// Sum is the SHA-256 in hexadecimal of the statement with all its lines and of the hash of the account's statement before,
// which is empty for the first. What has no price is in it where there is any: statements were without it at first.
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

// StatementFault is what is wrong with a statement.
type StatementFault struct {
	Account string
	Number  int64
	What    string
}
