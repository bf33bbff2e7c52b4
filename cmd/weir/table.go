package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// printTable writes rows under their heads, in columns.
func printTable(w io.Writer, heads []string, rows [][]string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{heads}, rows...) {
		if _, err := fmt.Fprintln(t, strings.TrimRight(strings.Join(row, "\t"), "\t")); err != nil {
			return err
		}
	}
	return t.Flush()
}

// printJSON writes v with indentation; an empty list is [].
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// list prints items as a table, or as a JSON array.
func list[T any](env *environment, items []T, heads []string, row func(*T) []string) error {
	if env.asJSON {
		return printJSON(env.stdout, append([]T{}, items...))
	}
	rows := make([][]string, 0, len(items))
	for i := range items {
		rows = append(rows, row(&items[i]))
	}
	return printTable(env.stdout, heads, rows)
}
