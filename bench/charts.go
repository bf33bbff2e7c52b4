package main

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"os"
	"strconv"
	"strings"
)

// chart is one figure of a section as bars, one for each subject that has it.
type chart struct {
	title, section, key string
	digits              int
}

func charts() []chart {
	return []chart{
		{"Requests per second of one core (more is better)", "throughput", figPerCore, 0},
		{"Latency at 200 requests/s, median, µs (less is better)", "pace", figP50, 0},
		{"Processor time of a streamed piece, µs (less is better)", "streams_fast", figPieceCPU, 1},
		{"Memory of a held stream, KB (less is better)", "held_streams", figPerStream, 1},
		{"Processor time of a request, µs (less is better)", "variants", figCPU, 1},
	}
}

// Measures of the drawing, in pixels.
const (
	chartWidth, labelWidth, valueWidth = 810, 340, 90
	barHeight, barStep, titleHeight    = 16, 22, 40
)

// chartStyle works on light and dark pages (https://www.w3.org/TR/mediaqueries-5/#prefers-color-scheme).
const chartStyle = `text{font:13px system-ui,sans-serif;fill:#1f2328}.title{font-weight:600}` +
	`.bar{fill:#8c959f}.own{fill:#0969da}` +
	`@media(prefers-color-scheme:dark){text{fill:#e6edf3}.bar{fill:#6e7681}.own{fill:#58a6ff}}`

// chartsCommand draws the output of "bench run --json".
func chartsCommand(_ context.Context, args []string, stdout, _ io.Writer) error {
	if len(args) != 1 {
		return fmt.Errorf("%w: name the file that bench run --json printed", errUsage)
	}
	text, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	var f findings
	if err := json.Unmarshal(text, &f); err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	_, err = io.WriteString(stdout, f.draw())
	return err
}

// draw returns all charts as one SVG, one below the other. It omits charts that were not measured.
func (r *findings) draw() string {
	var body strings.Builder
	y := 0
	for _, c := range charts() {
		y = r.drawChart(&body, c, y)
	}
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%[1]d" height="%[2]d" `+
		`role="img" aria-label="Weir beside nginx"><style>%s</style>%s</svg>`+"\n",
		chartWidth, y+barStep, chartStyle, &body)
}

func (r *findings) drawChart(w *strings.Builder, c chart, y int) (next int) {
	type bar struct {
		subject string
		stat    *stat
	}
	var bars []bar
	longest := 0.0
	for _, s := range r.Sections {
		for _, row := range s.Rows {
			if stat := row.Figures[c.key]; s.Name == c.section && stat != nil {
				bars, longest = append(bars, bar{row.Subject, stat}), max(longest, stat.Median)
			}
		}
	}
	if longest == 0 {
		return y
	}
	y += titleHeight
	fmt.Fprintf(w, `<text class="title" x="0" y="%d">%s</text>`, y-10, html.EscapeString(c.title))
	for _, b := range bars {
		class := "bar"
		if strings.HasPrefix(b.subject, "weir") {
			class = "bar own"
		}
		width := b.stat.Median / longest * (chartWidth - labelWidth - valueWidth)
		value := strconv.FormatFloat(b.stat.Median, 'f', c.digits, 64)
		fmt.Fprintf(w, `<text x="0" y="%d">%s</text>`+
			`<rect class="%s" x="%d" y="%d" width="%.1f" height="%d" rx="2"/><text x="%.1f" y="%d">%s</text>`,
			y+barHeight-3, html.EscapeString(b.subject), class, labelWidth, y, width, barHeight, labelWidth+width+6,
			y+barHeight-3, value)
		y += barStep
	}
	return y
}
