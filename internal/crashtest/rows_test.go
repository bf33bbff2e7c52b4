//go:build unix

package crashtest_test

import (
	"encoding/binary"
	"encoding/hex"
	"strings"

	"weir/internal/ledger"
	"weir/internal/must"
)

// storedRow is an attempt in the database.
type storedRow struct {
	ledger.Entry
	journal string // number
}

// ofAccount returns the condition of an account's rows.
func ofAccount(account string) string { return "a.account = '" + account + "'" }

// rows returns the rows that satisfy a condition, by request and number.
func (f *fleet) rows(where string) (list []storedRow) {
	f.t.Helper()
	for _, row := range f.query("SELECT encode(r.id, 'hex'), encode(r.data, 'hex'), k.journal, a.account, k.model FROM attempt_rows r" +
		" JOIN attempt_accounts a ON a.number = r.account JOIN attempt_kinds k ON k.number = r.kind WHERE " + where + " ORDER BY r.day, r.id") {
		one := storedRow{journal: row[2]}
		id := must.Get(hex.DecodeString(row[0]))(f.t)
		if one.ID.N = 1; copy(one.ID.Request[:], id) < len(id) {
			one.ID.N = binary.BigEndian.Uint16(id[16:])
		}
		one.Account = row[3]
		one.Provider, one.Model, _ = strings.Cut(row[4], "/")
		must.Do(f.t, ledger.Unpack(must.Get(hex.DecodeString(row[1]))(f.t), &one.Entry))
		list = append(list, one)
	}
	return list
}
