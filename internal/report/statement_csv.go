package report

import (
	"encoding/csv"
	"io"
	"strconv"

	"weir/internal/audit"
)

// roundingLine is the model of the row of a file that rounds the sum of the lines to the amount to pay.
const roundingLine = "(rounding)"

// WriteCSV writes the lines as a CSV file (RFC 4180). No name can act as a formula. Each row names the statement, so
// that files can be concatenated. The charges of all rows add up to the amount to pay.
func (s *Statement) WriteCSV(w io.Writer, accountName string) error {
	rows := [][]string{{
		"account", "statement", "month", "date", "model", "requests", "tokens", "charge_usd", "charge_at_most_usd",
		"correction", "unpriced_attempts", "account_name", "currency",
	}}
	for i := range s.Lines {
		l := &s.Lines[i]
		rows = append(rows, []string{
			s.Account, strconv.FormatInt(s.Number, 10), s.Month, l.Date, audit.PlainCell(l.Model),
			strconv.FormatInt(l.Requests, 10), strconv.FormatInt(l.Tokens, 10),
			l.Charge.Fixed(), l.AtMost().Fixed(), strconv.FormatBool(s.IsCorrection(l)),
			strconv.FormatInt(l.Unpriced, 10), audit.PlainCell(accountName), Currency,
		})
	}
	if _, rounding := s.Payable(); rounding != 0 {
		rows = append(rows, []string{
			s.Account, strconv.FormatInt(s.Number, 10), s.Month, "", roundingLine, "0", "0", rounding.Fixed(),
			rounding.Fixed(), "false", "0", audit.PlainCell(accountName), Currency,
		})
	}
	return csv.NewWriter(w).WriteAll(rows)
}
