package main

import (
	"fmt"
	"io"
)

// target is a performance target of the project, with its result.
type target struct {
	Name  string  `json:"name"`
	Got   float64 `json:"got"`
	Least bool    `json:"at_least"` // Limit is a minimum instead of a maximum
	Limit float64 `json:"limit"`
	Met   bool    `json:"met"`

	section, key, subject string // where the figure is in the findings
}

// promises returns the targets of the project.
func promises() []target {
	at := func(section, key, name, subject string, least bool, limit float64) target {
		return target{
			Name: name + " (" + subject + ")", Least: least, Limit: limit, section: section, key: key, subject: subject,
		}
	}
	var all []target
	for _, api := range []string{onCompletions, onChat} {
		all = append(all,
			at("throughput", figRatio, "requests per core-second, of nginx's", api, true, 0.40),
			at("pace", figOverP50, "p50 at 200/s over nginx, µs", api, false, 40),
			at("pace", figOverP99, "p99 at 200/s over nginx, µs", api, false, 120),
			at("streams_fast", figPieceCPU, "CPU a piece, no delay, µs", api, false, 12),
			at("streams_slow", figPieceCPU, "CPU a piece, 10 ms apart, µs", api, false, 12),
			at("held_streams", figPerStream, "held stream, KB", api, false, 40))
	}
	return append(all,
		at("cold_start", figExisting, "cold start, ms", "weir", false, 60),
		at("held_streams", figIdle, "idle memory, MB", onCompletions, false, 25),
		at("journal", figShare, "journal, % of the CPU of a request", "batched", false, 10))
}

// judge compares the medians with the targets. It skips and notes figures that were not measured.
func (r *findings) judge() {
	for _, t := range promises() {
		s := r.find(t.section, t.subject, t.key)
		if s == nil {
			r.Notes = append(r.Notes, "not measured: "+t.Name)
			continue
		}
		t.Got, t.Met = s.Median, s.Median <= t.Limit
		if t.Least {
			t.Met = s.Median >= t.Limit
		}
		r.Targets = append(r.Targets, t)
	}
}

func writeTargets(w io.Writer, targets []target) error {
	if len(targets) == 0 {
		return nil
	}
	text := "\nTargets, by the medians above\n"
	for _, t := range targets {
		bound, verdict := "at most", "met"
		if t.Least {
			bound = "at least"
		}
		if !t.Met {
			verdict = "NOT met"
		}
		text += fmt.Sprintf("  %s\t%.4g\t%s %.4g\t%s\n", t.Name, t.Got, bound, t.Limit, verdict)
	}
	_, err := io.WriteString(w, text)
	return err
}
