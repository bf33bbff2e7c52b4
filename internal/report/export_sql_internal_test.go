package report

import (
	"database/sql"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite" // which the questions are for

	"weir/internal/charge"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/must"
)

// sold are attempts of two days, of which each question has an answer.
func sold() []*Exported {
	of := func(day int, account, key, provider, user string, cost, margin llm.Money, ms int, tags ...llm.Tag) *Exported {
		e := priced(llm.Usage{llm.Input: 300, llm.CacheRead: 100, llm.Output: 20})
		e.Arrived = time.Date(2026, 11, day, 12, 0, 0, 0, time.UTC)
		e.AccountName, e.KeyLabel, e.Provider, e.Model = account, key, provider, "m"
		e.Attribution = llm.Attribution{User: user, Tags: tags}
		e.Cost, e.Margin, e.Counts, e.Outcome, e.FirstToken = cost, margin, true, ledger.OutcomeOK, time.Duration(ms)*time.Millisecond
		return e
	}
	team := func(name string) llm.Tag { return llm.Tag{Name: "team", Value: name} }
	alpha := llm.Tag{Name: "project", Value: "alpha"}
	list := []*Exported{
		of(1, "acme", "web", "p", "ada", 1_000_000_001, 0, 100, team("x"), alpha),
		of(1, "acme", "web", "p", "bob", 500_000_000, 0, 300, alpha, team("a, b=100%")),
		of(2, "acme", "batch", "p", "ada", 250_000_000, 0, 0, llm.Tag{Name: "steam", Value: "x"}),
		of(2, "globex", "web", "q", "", 125_000_000, 25_000_000, 700, llm.Tag{Name: "project", Value: "alphabet"}, team("x")),
	}
	list[3].Usage[llm.Input], list[3].Usage[llm.CacheRead] = 100, 300
	failed := of(2, "globex", "web", "p", "", 0, 0, 0)
	failed.Outcome, failed.Counts, failed.Usage = ledger.OutcomeFailed, false, llm.Usage{}
	return append(list, failed)
}

// TestExportInSQL asks an exported file what docs/metering.md asks it.
func TestExportInSQL(t *testing.T) {
	t.Parallel()
	file, out := io.Pipe()
	go func() {
		_, err := exportCSV(out, func(fn func(*Exported) error) error {
			for _, e := range sold() {
				if e.Margin > 0 {
					e.Terms = &charge.Terms{Markup: 2000}
				}
				if err := fn(e); err != nil {
					return err
				}
			}
			return nil
		})
		out.CloseWithError(err)
	}()
	rows := must.Get(csv.NewReader(file).ReadAll())(t)
	db := must.Get(sql.Open("sqlite", "file:"+t.TempDir()+"/ledger.db"))(t)
	defer db.Close()
	must.Get(db.ExecContext(t.Context(), "CREATE TABLE ledger ("+strings.Join(rows[0], " TEXT, ")+" TEXT)"))(t) // as .import does
	for _, row := range rows[1:] {
		args := make([]any, len(row))
		for i := range row {
			args[i] = row[i]
		}
		must.Get(db.ExecContext(t.Context(), "INSERT INTO ledger VALUES (?"+strings.Repeat(", ?", len(row)-1)+")", args...))(t)
	}
	text := string(must.Get(os.ReadFile("../../docs/metering.md"))(t))
	questions := regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllStringSubmatch(text, -1)
	want := []string{
		"2026-11 p/m 3 1.750000001; 2026-11 q/m 1 0.15",
		"ada 2 1.250000001; bob 1 0.5",
		"x 2 1.150000001; a, b=100% 1 0.5; - 1 0.25",
		"acme web 2 1.500000001",
		"q/m 75; p/m 25",
		"globex 0.125 0.15 0.025; acme 1.750000001 1.750000001 0",
		"2026-11-02 p 2 1 - -; 2026-11-02 q 1 0 700 700; 2026-11-01 p 2 0 100 300",
	}
	must.Equal(t, len(questions), len(want), "questions")
	for i, q := range questions {
		must.Equal(t, answer(t, db, q[1]), want[i], "answer to %s", q[1])
	}
}

// answer has the columns of a row with spaces between them, and rows with semicolons.
func answer(t *testing.T, db *sql.DB, question string) string {
	t.Helper()
	rows := must.Get(db.QueryContext(t.Context(), question))(t)
	defer rows.Close()
	columns := must.Get(rows.Columns())(t)
	var all []string
	for rows.Next() {
		values, dest := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			dest[i] = &values[i]
		}
		must.Do(t, rows.Scan(dest...))
		var words []string
		for _, v := range values {
			if v == nil {
				v = "-"
			}
			words = append(words, fmt.Sprint(v))
		}
		all = append(all, strings.Join(words, " "))
	}
	must.Do(t, rows.Err())
	return strings.Join(all, "; ")
}
