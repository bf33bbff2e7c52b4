package report

import (
	"encoding/csv"
	"io"
	"strconv"

	"weir/internal/audit"
)

// WriteCSV writes the lines as a file (RFC 4180), in which no name is a formula.
func (s *Statement) WriteCSV(w io.Writer) error {
	rows := [][]string{{"date", "model", "requests", "tokens", "charge_usd", "charge_at_most_usd", "correction"}}
	for i := range s.Lines {
		l := &s.Lines[i]
		rows = append(rows, []string{
			l.Date, audit.PlainCell(l.Model), strconv.FormatInt(l.Requests, 10), strconv.FormatInt(l.Tokens, 10),
			l.Charge.String(), (l.Charge + l.Uncertain).String(), strconv.FormatBool(s.IsCorrection(l)),
		})
	}
	return csv.NewWriter(w).WriteAll(rows)
}
