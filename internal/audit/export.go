package audit

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Exporter writes all entries that each yields, in order.
type Exporter func(w io.Writer, each func(func(*Entry) error) error) error

// Exporters returns the export formats by name: csv (RFC 4180), and jsonl, a JSON object per line
// (https://jsonlines.org).
func Exporters() map[string]Exporter {
	return map[string]Exporter{"csv": exportCSV, "jsonl": exportLines}
}

func exportLines(w io.Writer, each func(func(*Entry) error) error) error {
	lines := json.NewEncoder(w)
	return each(func(e *Entry) error { return lines.Encode(e) })
}

func exportCSV(w io.Writer, each func(func(*Entry) error) error) error {
	out := csv.NewWriter(w)
	err := out.Write([]string{
		"seq", "at", "actor_kind", "actor_id", "actor_name", "address", "request",
		"action", "object_kind", "object_id", "object_name", "account", "before", "after", "hash",
		"actor_salt", "actor_proof", "object_salt", "object_proof", "tool",
	})
	if err != nil {
		return err
	}
	err = each(func(e *Entry) error {
		var actor, object Proof
		if p := e.Proofs; p != nil {
			actor, object = valueOf(p.Actor), valueOf(p.Object)
		}
		return out.Write([]string{
			strconv.FormatInt(e.Seq, 10), e.At.Format(time.RFC3339Nano), string(e.Actor.Kind), e.Actor.ID,
			PlainCell(e.Actor.Name), e.Actor.Address, e.Actor.Request, string(e.Action), e.Object.Kind, e.Object.ID,
			PlainCell(e.Object.Name), e.Account, string(e.Before), string(e.After), e.Hash.String(),
			actor.Salt, actor.Hash, object.Salt, object.Hash, e.Actor.Tool,
		})
	})
	out.Flush()
	return errors.Join(err, out.Error())
}

// valueOf returns a proof, or the zero value for nil.
func valueOf(p *Proof) Proof {
	if p == nil {
		return Proof{}
	}
	return *p
}

// PlainCell prevents a name from acting as a formula if the file is opened in a spreadsheet
// (https://owasp.org/www-community/attacks/CSV_Injection). It adds a quotation mark before a formula character at the
// start of the name or after a semicolon, which separates cells in some countries. It replaces control characters,
// which a terminal would execute.
func PlainCell(name string) string {
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && !strings.ContainsRune("\t\r\n", r) {
			return unicode.ReplacementChar
		}
		return r
	}, name)
	var cell strings.Builder
	begins := true
	for i := range len(name) {
		if begins && strings.Contains("=+-@\t\r\n", name[i:i+1]) {
			cell.WriteByte('\'')
		}
		cell.WriteByte(name[i])
		begins = name[i] == ';'
	}
	return cell.String()
}
