package dashboard

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/internal/ledger"
	"weir/internal/report"
)

// Dimensions of the timeline.
const (
	laneHeight = 40.0
	laneBar    = 12.0
)

// pathChart draws the timeline of a request: its attempts below each other, by start and end.
func pathChart(parts []report.Attempt) Chart {
	c := Chart{Title: "Timeline", Columns: []string{
		"Attempt", "Model", "Outcome", "Pause before", "Started", "First token", "Ended",
	}}
	whole := time.Millisecond
	for i := range parts {
		a := &parts[i]
		began := a.Opened.Sub(a.Arrived)
		ended := began + a.Duration
		whole = max(whole, ended)
		row := []string{
			strconv.Itoa(int(a.ID.N)), a.FullModel(), outcomeBadge(a.Outcome).Text, none, took(began), none, none,
		}
		if pause := pauseBefore(parts, i); pause > 0 {
			row[3] = took(pause)
		}
		if a.FirstToken > 0 {
			row[5] = took(began + a.FirstToken)
		}
		if a.Outcome != ledger.OutcomeOpen {
			row[6] = took(ended)
		}
		c.Rows = append(c.Rows, row)
	}
	c.Summary = many(int64(len(parts)), "attempt") + ", times since the request arrived"
	if slices.ContainsFunc(c.Rows, func(row []string) bool { return row[3] != none }) {
		c.Summary += "; a thin line is a pause"
	}
	c.Picture = pathPicture(parts, whole)
	return c
}

// shortPause is the least time between two attempts that is shown as a pause. Less is the gateway's own work.
const shortPause = time.Millisecond

// pauseBefore returns the time between an attempt and the end of the one before; 0 for none.
func pauseBefore(parts []report.Attempt, i int) time.Duration {
	if i == 0 || parts[i-1].Outcome == ledger.OutcomeOpen {
		return 0
	}
	before := &parts[i-1]
	pause := parts[i].Opened.Sub(before.Opened.Add(before.Duration))
	if pause < shortPause {
		return 0
	}
	return pause
}

func pathPicture(parts []report.Attempt, whole time.Duration) template.HTML {
	height := laneHeight*float64(len(parts)) + 24
	x := func(d time.Duration) float64 { return float64(max(d, 0)) / float64(whole) * (chartWidth - 2) }
	var out strings.Builder
	fmt.Fprintf(&out, `<svg viewBox="0 0 %g %g" role="img" aria-label="%s in %s">`, chartWidth, height,
		many(int64(len(parts)), "attempt"), took(whole))
	fmt.Fprintf(&out,
		`<path class="axis" d="M.5 0V%g"/><path class="axis" d="M%g 0V%g"/><path class="axis" d="M%g 0V%g"/>`,
		height-20, chartWidth/2, height-20, chartWidth-.5, height-20)
	for i := range parts {
		a := &parts[i]
		began := a.Opened.Sub(a.Arrived)
		y := laneHeight * float64(i)
		fmt.Fprintf(&out, `<text class="said" x="%s" y="%g">%d. %s</text>`, tenth(min(x(began), chartWidth/2)+4), y+16,
			a.ID.N, template.HTMLEscapeString(a.FullModel()))
		if pause := pauseBefore(parts, i); pause > 0 {
			out.WriteString(box("b-pause", x(began-pause), y+22+laneBar/2-1, x(pause), 2))
		}
		out.WriteString(box("b-"+outcomeKind(a.Outcome), x(began), y+22, max(x(a.Duration), 2), laneBar))
		if a.FirstToken > 0 {
			out.WriteString(box("mark", x(began+a.FirstToken), y+20, 2, laneBar+4))
		}
	}
	fmt.Fprintf(&out,
		`<text x="0" y="%g">0</text><text x="%g" y="%g" text-anchor="middle">%s</text><text x="%g" y="%g" `+
			`text-anchor="end">%s</text></svg>`,
		height-4, chartWidth/2, height-4, took(whole/2), chartWidth, height-4, took(whole))
	return template.HTML(out.String())
}

// outcomeKind returns the kind of an outcome's badge, which also selects the colour of its bar.
func outcomeKind(o ledger.Outcome) string { return cmp.Or(outcomeBadge(o).Kind, "open") }
