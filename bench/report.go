package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"text/tabwriter"
)

// findings are the results of a run.
type findings struct {
	Machine  machine    `json:"machine"`
	Sections []*section `json:"sections"`
	Targets  []target   `json:"targets"`
	Notes    []string   `json:"notes,omitempty"`
}

// machine describes the machine of the measurement.
type machine struct {
	Date    string `json:"date"`
	CPU     string `json:"cpu"`
	Cores   int    `json:"cores"`
	Kernel  string `json:"kernel"`
	Go      string `json:"go"`
	Nginx   string `json:"nginx,omitempty"`
	Gateway string `json:"gateway"`
	Load    string `json:"load_average"` // of the last minute before the run
}

// section is one table.
type section struct {
	Name    string   `json:"name"`
	Title   string   `json:"title"`
	Columns []column `json:"-"`
	Rows    []*row   `json:"rows"`
}

type column struct {
	key    string
	head   string
	digits int // decimal places
}

type row struct {
	Subject string           `json:"subject"`
	Figures map[string]*stat `json:"figures"`
}

// stat summarizes a figure over all rounds.
type stat struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
	Rounds int     `json:"rounds"`
}

func (s *section) row(subject string) *row {
	r := &row{Subject: subject, Figures: map[string]*stat{}}
	s.Rows = append(s.Rows, r)
	return r
}

// put adds a figure. Rounds without a value, such as a quotient of zeros, do not count; without any value there is no
// figure.
func (r *row) put(key string, rounds ...float64) *row {
	if s := statOf(rounds); s != nil {
		r.Figures[key] = s
	}
	return r
}

func statOf(rounds []float64) *stat {
	values := slices.DeleteFunc(slices.Clone(rounds), func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
	if len(values) == 0 {
		return nil
	}
	slices.Sort(values)
	mid := len(values) / 2
	median := values[mid]
	if len(values)%2 == 0 {
		median = (values[mid-1] + values[mid]) / 2
	}
	return &stat{Median: median, Min: values[0], Max: values[len(values)-1], Rounds: len(values)}
}

// section adds a table.
func (r *findings) section(name, title string, columns ...column) *section {
	s := &section{Name: name, Title: title, Columns: columns}
	r.Sections = append(r.Sections, s)
	return s
}

// find returns a figure of a subject; nil if it was not measured.
func (r *findings) find(section, subject, key string) *stat {
	for _, s := range r.Sections {
		for _, row := range s.Rows {
			if s.Name == section && row.Subject == subject {
				return row.Figures[key]
			}
		}
	}
	return nil
}

func (r *findings) writeJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(r)
}

// writeText writes the tables. A figure is the median of its rounds, with the minimum and maximum if there are several.
func (r *findings) writeText(w io.Writer) error {
	m := &r.Machine
	_, err := fmt.Fprintf(w, "Date: %s\nMachine: %s, %d cores, Linux %s, load average before %s\nGateway: %s\n"+
		"Compared with: nginx %s; load and mock built with %s\n",
		m.Date, m.CPU, m.Cores, m.Kernel, m.Load, m.Gateway, orNone(m.Nginx), m.Go)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, s := range r.Sections {
		err = errors.Join(err, s.write(t), t.Flush())
	}
	err = errors.Join(err, writeTargets(t, r.Targets), t.Flush())
	for _, n := range r.Notes {
		_, noteErr := fmt.Fprintf(w, "\nNote: %s", n)
		err = errors.Join(err, noteErr)
	}
	_, last := fmt.Fprintln(w)
	return errors.Join(err, last)
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

func (s *section) write(w io.Writer) error {
	line := "\n" + s.Title + "\n"
	for _, c := range s.Columns {
		line += "\t" + c.head
	}
	line += "\n"
	for _, row := range s.Rows {
		line += "  " + row.Subject
		for _, c := range s.Columns {
			line += "\t" + row.Figures[c.key].text(c.digits)
		}
		line += "\n"
	}
	_, err := io.WriteString(w, line)
	return err
}

func (s *stat) text(digits int) string {
	if s == nil {
		return "-"
	}
	one := func(v float64) string { return strconv.FormatFloat(v, 'f', digits, 64) }
	if s.Rounds == 1 {
		return one(s.Median)
	}
	return fmt.Sprintf("%s (%s–%s)", one(s.Median), one(s.Min), one(s.Max))
}
