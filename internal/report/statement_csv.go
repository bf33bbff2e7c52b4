package report

import (
	"encoding/csv"
	"io"
	"strconv"

	"weir/internal/audit"
)

// WriteCSV writes the lines as a CSV file (RFC 4180). No name can act as a formula. Each row names the statement, so
// that files can be concatenated.
func (s *Statement) WriteCSV(w io.Writer) error {
	rows := [][]string{{
		"account", "statement", "month", "date", "model", "requests", "tokens", "charge_usd", "charge_at_most_usd",
		"correction", "unpriced_attempts",
	}}
	for i := range s.Lines {
		l := &s.Lines[i]
		rows = append(rows, []string{
			s.Account, strconv.FormatInt(s.Number, 10), s.Month, l.Date, audit.PlainCell(l.Model),
			strconv.FormatInt(l.Requests, 10), strconv.FormatInt(l.Tokens, 10),
			l.Charge.Fixed(), l.AtMost().Fixed(), strconv.FormatBool(s.IsCorrection(l)),
			strconv.FormatInt(l.Unpriced, 10),
		})
	}
	return csv.NewWriter(w).WriteAll(rows)
}
