package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode/utf8"
)

// mostColumns bounds the width of tables: a wider one leaves out its columns without content.
const mostColumns = 120

// printCard writes the cells of one row, each on a line with its head.
func printCard(w io.Writer, heads, row []string) error {
	width := 0
	for _, head := range heads {
		width = max(width, len(head))
	}
	for i, head := range heads {
		if _, err := fmt.Fprintf(w, "%-*s"+gap+"%s\n", width, head, visible(row[i])); err != nil {
			return err
		}
	}
	return nil
}

// narrow leaves out the columns of a wide table that have nothing in any row.
func narrow(heads []string, rows [][]string) ([]string, [][]string) {
	ragged := slices.ContainsFunc(rows, func(row []string) bool { return len(row) != len(heads) })
	if len(rows) == 0 || ragged || tableWidth(heads, rows) <= mostColumns {
		return heads, rows
	}
	table := make([][]string, len(rows)+1)
	for i, head := range heads {
		if slices.ContainsFunc(rows, func(row []string) bool { return row[i] != "" && row[i] != "none" }) {
			table[0] = append(table[0], head)
			for j, row := range rows {
				table[j+1] = append(table[j+1], row[i])
			}
		}
	}
	return table[0], table[1:]
}

// printTable writes a header and rows, in columns.
func printTable(w io.Writer, heads []string, rows [][]string) error {
	heads, rows = narrow(heads, rows)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{heads}, rows...) {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = visible(cell)
		}
		if _, err := fmt.Fprintln(t, strings.TrimRight(strings.Join(cells, "\t"), "\t")); err != nil {
			return err
		}
	}
	return t.Flush()
}

// gap separates two columns.
const gap = "  "

// printFolded writes a header and rows, in columns, to a terminal of that width. A first cell that is too wide gets a
// line of its own. A row that has only its first and its last cell is printed as text.
func printFolded(w io.Writer, width int, heads []string, rows [][]string) error {
	table := append([][]string{heads}, rows...)
	widths := columnWidths(table)
	if over := tableWidth(heads, rows) - width; over > 0 {
		widths[0] = max(widths[0]-over, len(heads[0]))
	}
	var out strings.Builder
	for _, row := range table {
		if isText(row) {
			foldText(&out, width, row[0], row[len(row)-1])
			continue
		}
		foldRow(&out, widths, row)
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func foldRow(out *strings.Builder, widths []int, row []string) {
	var line strings.Builder
	for i, cell := range row {
		if i == 0 && utf8.RuneCountInString(cell) > widths[0] {
			out.WriteString(cell + "\n")
			cell = ""
		}
		fmt.Fprintf(&line, "%-*s"+gap, widths[i], cell)
	}
	out.WriteString(strings.TrimRight(line.String(), " ") + "\n")
}

// foldText writes a name and a text, broken between words where the line is full.
func foldText(out *strings.Builder, width int, name, text string) {
	at := utf8.RuneCountInString(name)
	out.WriteString(name)
	for _, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case at+1+n > width:
			out.WriteString("\n" + gap)
			at = len(gap)
		default:
			out.WriteByte(' ')
			at++
		}
		out.WriteString(word)
		at += n
	}
	out.WriteByte('\n')
}

// isText reports whether a row has no cell between its first and its last.
func isText(row []string) bool {
	return strings.Join(row[1:len(row)-1], "") == "" && row[len(row)-1] != ""
}

// tableWidth returns the width of the table if no cell is folded.
func tableWidth(heads []string, rows [][]string) int {
	sum := -len(gap)
	for _, n := range columnWidths(append([][]string{heads}, rows...)) {
		sum += len(gap) + n
	}
	return sum
}

// columnWidths returns the widths of the widest cells.
func columnWidths(table [][]string) []int {
	widths := make([]int, len(table[0]))
	for _, row := range table {
		if isText(row) {
			continue
		}
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	return widths
}

// printJSON writes v with indentation; an empty list is [].
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(harmless{w})
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// harmless escapes the control characters that JSON permits in strings, U+007F to U+009F: texts of clients and models
// could control a terminal. Each Write must get whole characters, as from a json.Encoder.
type harmless struct{ to io.Writer }

// Write implements io.Writer.
func (h harmless) Write(text []byte) (int, error) {
	if bytes.ContainsFunc(text, isLateControl) {
		var out bytes.Buffer
		for _, r := range string(text) {
			if isLateControl(r) {
				fmt.Fprintf(&out, `\u%04x`, r)
				continue
			}
			out.WriteRune(r)
		}
		_, err := h.to.Write(out.Bytes())
		return len(text), err
	}
	return h.to.Write(text)
}

func isLateControl(r rune) bool { return 0x7f <= r && r <= 0x9f }

// list prints items as a table, or as a JSON array.
func list[T any](o *output, items []T, heads []string, row func(*T) []string) error {
	if o.asJSON {
		return printJSON(o.stdout, append([]T{}, items...))
	}
	return printTable(o.stdout, heads, rowsOf(items, row))
}

// listViews prints a view of each item, or returns err if it is set.
func listViews[T, V any](o *output, items []T, err error, view func(*T) V, heads []string,
	row func(*V) []string,
) error {
	if err != nil {
		return err
	}
	views := make([]V, len(items))
	for i := range items {
		views[i] = view(&items[i])
	}
	return list(o, views, heads, row)
}

func rowsOf[T any](items []T, row func(*T) []string) [][]string {
	rows := make([][]string, 0, len(items))
	for i := range items {
		rows = append(rows, row(&items[i]))
	}
	return rows
}
