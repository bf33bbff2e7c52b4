package main

import (
	"fmt"
	"io"
)

// target is a promise about the gateway and what became of it.
type target struct {
	Name  string  `json:"name"`
	Got   float64 `json:"got"`
	Least bool    `json:"at_least"` // Limit is the least allowed, not the most
	Limit float64 `json:"limit"`
	Met   bool    `json:"met"`
}

// promise is where a target's figure stands. Every subject has to keep it.
type promise struct {
	name     string
	section  string
	key      string
	subjects []string
	least    bool
	limit    float64
}

// promises are the targets of the project.
func promises() []promise {
	clientAPIs := []string{onCompletions, onChat}
	return []promise{
		{name: "requests per core-second, of nginx's", section: "throughput", key: figRatio, subjects: clientAPIs, least: true, limit: 0.40},
		{name: "p50 at 200/s over nginx, µs", section: "pace", key: figOverP50, subjects: clientAPIs, limit: 40},
		{name: "p99 at 200/s over nginx, µs", section: "pace", key: figOverP99, subjects: clientAPIs, limit: 120},
		{name: "CPU a piece, no delay, µs", section: "streams_fast", key: figPieceCPU, subjects: clientAPIs, limit: 12},
		{name: "CPU a piece, 10 ms apart, µs", section: "streams_slow", key: figPieceCPU, subjects: clientAPIs, limit: 12},
		{name: "held stream, KB", section: "held_streams", key: figPerStream, subjects: clientAPIs, limit: 40},
		{name: "cold start, ms", section: "cold_start", key: figExisting, subjects: []string{"weir"}, limit: 60},
		{name: "idle memory, MB", section: "held_streams", key: figIdle, subjects: []string{onCompletions}, limit: 25},
		{name: "journal, % of the CPU of a request", section: "journal", key: figShare, subjects: []string{"batched"}, limit: 10},
	}
}

// judge compares the medians with the targets. A figure that was not measured
// is left out, and noted.
func (r *findings) judge() {
	for _, p := range promises() {
		for _, subject := range p.subjects {
			s := r.find(p.section, subject, p.key)
			if s == nil {
				r.Notes = append(r.Notes, fmt.Sprintf("not measured: %s (%s)", p.name, subject))
				continue
			}
			met := s.Median <= p.limit
			if p.least {
				met = s.Median >= p.limit
			}
			r.Targets = append(r.Targets, target{
				Name: p.name + " (" + subject + ")", Got: s.Median, Least: p.least, Limit: p.limit, Met: met,
			})
		}
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
