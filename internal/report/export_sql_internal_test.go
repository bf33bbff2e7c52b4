package report

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	_ "modernc.org/sqlite" // which the questions are for

	"weir/internal/charge"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/store/pgtest"
)

// sold returns attempts of two days, with an answer to each question.
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

// engine loads a file as docs/exports.md describes and answers questions: the cells of rows, nil for null.
type engine func(t *testing.T, file string, statements []string) [][][]*string

// engines returns the databases in docs/exports.md.
func engines() map[string]engine {
	return map[string]engine{"SQLite": askSQLite, "PostgreSQL": askPostgres, "DuckDB": askDuckDB}
}

// documented returns the statements of SQL in docs/exports.md: the table, and the questions.
func documented(t *testing.T) (table string, questions []string) {
	t.Helper()
	text := string(must.Get(os.ReadFile("../../docs/exports.md"))(t))
	for i, q := range regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllStringSubmatch(text, -1) {
		if i == 0 {
			table = q[1]
			continue
		}
		questions = append(questions, q[1])
	}
	return table, questions
}

// TestExportInSQL runs the questions of docs/exports.md on an exported file, in each database that it names.
func TestExportInSQL(t *testing.T) {
	t.Parallel()
	want := []string{
		"1900000001",
		"2026-11 p/m 3 1.750000001; 2026-11 q/m 1 0.15",
		"ada 2 1.250000001; bob 1 0.5",
		"x 2 1.150000001; a, b=100% 1 0.5; - 1 0.25",
		"acme web 2 1.500000001",
		"q/m 75; p/m 25",
		"globex 0.125 0.15 0.025; acme 1.750000001 1.750000001 0",
		"2026-11-02 p 2 1 - -; 2026-11-02 q 1 0 700 700; 2026-11-01 p 2 0 100 300",
	}
	file := exportedFile(t, exportCSV, sold())
	for name, ask := range engines() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, questions := documented(t)
			must.Equal(t, len(questions), len(want), "questions")
			for i, rows := range ask(t, file, questions) {
				must.Equal(t, answer(rows), want[i], "answer to %s", questions[i])
			}
		})
	}
}

// TestExportSumsExactly adds up costs to the nano-dollar, in files that begin with many free attempts: a program that
// guesses types from the first rows would read costs as whole numbers.
func TestExportSumsExactly(t *testing.T) {
	t.Parallel()
	var list []*Exported
	var sum llm.Money
	for i := range 26_000 {
		e := priced(llm.Usage{llm.Input: 1})
		e.Price.Rates, e.Cost = llm.Rates{llm.Input: llm.Free}, 0
		if i > 21_000 {
			e.Price.Rates[llm.Input] = llm.RateOf(int64(i) * 1_000_003_000)
			e.Cost = e.Price.Cost(&e.Usage, "")
		}
		sum += e.Cost
		list = append(list, e)
	}
	file, focus := exportedFile(t, exportCSV, list), exportedFile(t, ExportFormats("")["focus"], list)
	for name, ask := range engines() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, questions := documented(t)
			got := ask(t, file, []string{questions[0], "SELECT round(sum(cost_usd), 9) FROM ledger"})
			must.Equal(t, answer(got[0]), strconv.FormatInt(int64(sum), 10), "nano-dollars")
			if name != "SQLite" { // its numbers are binary
				must.Equal(t, answer(got[1]), sum.String(), "dollars")
			}
			if name != "DuckDB" {
				return
			}
			for of, column := range map[string]string{file: "cost_usd", focus: "BilledCost"} { // types guessed
				rows := ask(t, file, []string{"SELECT typeof(any_value(" + column + ")), round(sum(" + column + "), 6) FROM read_csv('" + of + "')"})
				must.Equal(t, answer(rows[0]), "DOUBLE "+strconv.FormatFloat(float64((sum+500)/1000)/1e6, 'f', -1, 64), "type and sum of %s", column)
			}
		})
	}
}

// exportedFile writes a file of attempts. That of an account with a margin has a price list.
func exportedFile(t *testing.T, export Exporter, list []*Exported) string {
	t.Helper()
	path := t.TempDir() + "/export.csv"
	must.Do(t, os.Chmod(filepath.Dir(path), 0o755))
	file := must.Get(os.Create(path))(t)
	_, err := export(file, func(fn func(*Exported) error) error {
		for _, e := range list {
			if e.Margin > 0 {
				e.Terms = &charge.Terms{Markup: 2000}
			}
			if err := fn(e); err != nil {
				return err
			}
		}
		return nil
	})
	must.Do(t, err)
	must.Do(t, file.Close())
	return path
}

// askSQLite inserts texts into the columns, as the command .import does.
func askSQLite(t *testing.T, file string, statements []string) (answers [][][]*string) {
	table, _ := documented(t)
	rows := must.Get(csv.NewReader(must.Get(os.Open(file))(t)).ReadAll())(t)
	db := must.Get(sql.Open("sqlite", "file:"+t.TempDir()+"/ledger.db?_pragma=synchronous(off)"))(t)
	defer db.Close()
	must.Get(db.ExecContext(t.Context(), table))(t)
	tx := must.Get(db.BeginTx(t.Context(), nil))(t)
	insert := must.Get(tx.PrepareContext(t.Context(), "INSERT INTO ledger VALUES (?"+strings.Repeat(", ?", len(rows[0])-1)+")"))(t)
	defer insert.Close()
	for _, row := range rows[1:] {
		args := make([]any, len(row))
		for i := range row {
			args[i] = row[i]
		}
		must.Get(insert.ExecContext(t.Context(), args...))(t)
	}
	must.Do(t, tx.Commit())
	for _, statement := range statements {
		answers = append(answers, sqliteRows(t, db, statement))
	}
	return answers
}

func sqliteRows(t *testing.T, db *sql.DB, statement string) (all [][]*string) {
	t.Helper()
	rows := must.Get(db.QueryContext(t.Context(), statement))(t)
	defer rows.Close()
	columns := must.Get(rows.Columns())(t)
	for rows.Next() {
		values, dest, cells := make([]any, len(columns)), make([]any, len(columns)), make([]*string, len(columns))
		for i := range values {
			dest[i] = &values[i]
		}
		must.Do(t, rows.Scan(dest...))
		for i, v := range values {
			if day, isDay := v.(time.Time); isDay { // of a column that is declared a date
				cells[i] = new(day.Format(time.DateOnly))
			} else if v != nil {
				cells[i] = new(fmt.Sprint(v))
			}
		}
		all = append(all, cells)
	}
	must.Do(t, rows.Err())
	return all
}

// askPostgres copies the file, as the command \copy of psql does.
func askPostgres(t *testing.T, file string, statements []string) (answers [][][]*string) {
	table, _ := documented(t)
	c := must.Get(pgconn.Connect(t.Context(), pgtest.New(t).URL("postgres")))(t)
	defer c.Close(context.WithoutCancel(t.Context()))
	must.Get(c.Exec(t.Context(), table).ReadAll())(t)
	in := must.Get(os.Open(file))(t)
	defer in.Close()
	must.Get(c.CopyFrom(t.Context(), in, "COPY ledger FROM STDIN WITH (FORMAT csv, HEADER)"))(t)
	for _, statement := range statements {
		var all [][]*string
		for _, row := range must.Get(c.Exec(t.Context(), statement).ReadAll())(t)[0].Rows {
			cells := make([]*string, len(row))
			for i := range row {
				if row[i] != nil {
					cells[i] = new(string(row[i]))
				}
			}
			all = append(all, cells)
		}
		answers = append(answers, all)
	}
	return answers
}

// duckDB is the npm package with DuckDB, in the tested version.
const duckDB = "@duckdb/node-api@1.5.6-r.1"

// askDuckDB installs DuckDB if tests require everything and there are node and npm.
func askDuckDB(t *testing.T, file string, statements []string) (answers [][][]*string) {
	node, err := exec.LookPath("node")
	npm, npmErr := exec.LookPath("npm")
	if err != nil || npmErr != nil || os.Getenv("WEIR_TEST_REQUIRE") != "all" {
		t.Skip("DuckDB is installed with node and npm, where WEIR_TEST_REQUIRE is all")
	}
	table, _ := documented(t)
	script := must.Get(filepath.Abs("testdata/duckdb.mjs"))(t)
	dir := installed(t, npm, duckDB)
	load := "COPY ledger FROM '" + file + `' (FORMAT csv, HEADER, DELIMITER ',', QUOTE '"', ESCAPE '"')`
	ask := exec.CommandContext(t.Context(), node, script)
	ask.Dir = dir
	ask.Stdin = bytes.NewReader(must.Get(json.Marshal(append([]string{table, load}, statements...)))(t))
	var said bytes.Buffer
	ask.Stderr = &said
	out, err := ask.Output()
	if err != nil {
		t.Fatalf("ask DuckDB: %v\n%s", err, said.String())
	}
	must.Do(t, json.Unmarshal(out, &answers))
	return answers[2:]
}

// installed returns a directory with an npm package. It stays for further tests.
func installed(t *testing.T, npm, name string) string {
	t.Helper()
	all := filepath.Join(must.Get(os.UserCacheDir())(t), "weir-test")
	dir := filepath.Join(all, strings.ReplaceAll(name, "/", "+"))
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	must.Do(t, os.MkdirAll(all, 0o755))
	made := must.Get(os.MkdirTemp(all, "install-"))(t)
	install := exec.CommandContext(t.Context(), npm, "install", "--no-audit", "--no-fund", "--prefix", made, name)
	install.Dir = made
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("install %s: %v\n%s", name, err, out)
	}
	if os.Rename(made, dir) != nil { // another test was first
		must.Do(t, os.RemoveAll(made))
	}
	return dir
}

// answer joins the cells of a row by spaces, and rows by semicolons. It removes the trailing zeros of numbers.
func answer(rows [][]*string) string {
	number := regexp.MustCompile(`^(-?\d+)(?:(\.\d*?)0*)$`)
	var all []string
	for _, row := range rows {
		var words []string
		for _, cell := range row {
			word := "-"
			if cell != nil {
				word = *cell
			}
			if m := number.FindStringSubmatch(word); m != nil {
				word = m[1] + strings.TrimSuffix(m[2], ".")
			}
			words = append(words, word)
		}
		all = append(all, strings.Join(words, " "))
	}
	return strings.Join(all, "; ")
}
