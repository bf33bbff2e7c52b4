package dashboard

import (
	"fmt"
	"html/template"
	"strconv"
	"strings"
)

// maxSeries is the number of series for which charts have colours.
const maxSeries = 6

// bars is a bar chart in which each bar is a stack of series.
type bars struct {
	label string // text for screen readers
	unit  func(int64) string
	stack []stack
}

// stack is one bar.
type stack struct {
	name   string  // below the bar
	title  string  // tooltip
	values []int64 // by series, at most maxSeries; none is negative
}

func (s *stack) sum() (n int64) {
	for _, v := range s.values {
		n += v
	}
	return n
}

// Dimensions of the chart, in the units of its viewBox.
const (
	chartWidth  = 720.0
	chartLeft   = 60.0
	chartTop    = 12.0
	chartBottom = 172.0
	chartHeight = 196.0
	mostNames   = 10 // below the bars
)

// picture draws the bars. chart.js finds each as a g of class slot, in the order of the rows of the chart's table.
func (b *bars) picture() template.HTML {
	top := int64(0)
	for i := range b.stack {
		top = max(top, b.stack[i].sum())
	}
	var out strings.Builder
	openPicture(&out, b.label, axisTop(top), b.unit)
	b.draw(&out, max(axisTop(top), 1))
	return closePicture(&out)
}

// axisTop returns the end of the vertical axis for a largest value; 0 for 0, which has no scale.
func axisTop(largest int64) int64 {
	if largest == 0 {
		return 0
	}
	return niceTop(largest)
}

// openPicture starts a chart with its axes. The vertical one ends at top; if that is 0, only its 0 is labelled.
func openPicture(out *strings.Builder, label string, top int64, unit func(int64) string) {
	fmt.Fprintf(out, `<svg viewBox="0 0 %g %g" role="img" aria-label="%s">`, chartWidth, chartHeight,
		template.HTMLEscapeString(label))
	fmt.Fprintf(out, `<path class="axis" d="M%g %gH%gM%g %gH%g"/>`, chartLeft, chartTop, chartWidth, chartLeft,
		(chartTop+chartBottom)/2, chartWidth)
	for i, y := range []float64{chartTop, (chartTop + chartBottom) / 2, chartBottom} {
		if top == 0 && y != chartBottom {
			continue
		}
		fmt.Fprintf(out, `<text x="%g" y="%g" text-anchor="end">%s</text>`, chartLeft-8, y+4,
			template.HTMLEscapeString(unit(top*int64(2-i)/2)))
	}
}

// closePicture ends a chart with its base line.
func closePicture(out *strings.Builder) template.HTML {
	fmt.Fprintf(out, `<path class="base" d="M%g %gH%g"/></svg>`, chartLeft, chartBottom, chartWidth)
	return template.HTML(out.String())
}

func (b *bars) draw(out *strings.Builder, top int64) {
	slot := (chartWidth - chartLeft) / float64(max(len(b.stack), 1))
	width := min(slot*.72, 48)
	every := (len(b.stack) + mostNames - 1) / mostNames
	for i := range b.stack {
		s := &b.stack[i]
		x := chartLeft + float64(i)*slot
		fmt.Fprintf(out, `<g class="slot"><title>%s</title>%s`, template.HTMLEscapeString(s.title),
			box("hit", x, chartTop, slot, chartBottom-chartTop))
		y := chartBottom
		for n, v := range s.values {
			if v > 0 {
				height := max(float64(v)/float64(top)*(chartBottom-chartTop), 1) // so that small values are visible
				y -= height
				out.WriteString(box("d"+strconv.Itoa(n+1), x+(slot-width)/2, y, width, height))
			}
		}
		if i%every == 0 {
			below(out, x+slot/2, s.name)
		}
		out.WriteString(`</g>`)
	}
}

// below draws a name below the base line.
func below(out *strings.Builder, x float64, name string) {
	fmt.Fprintf(out, `<text x="%s" y="%g" text-anchor="middle">%s</text>`, tenth(x), chartHeight-4,
		template.HTMLEscapeString(name))
}

// lines is a line chart of series over the same points.
type lines struct {
	label  string // text for screen readers
	unit   func(int64) string
	series int // at most two
	points []point
}

// point holds the values of the series at one place.
type point struct {
	name   string  // below it
	title  string  // tooltip
	values []int64 // by series, not negative; empty if unknown, which leaves a gap in the lines
}

// picture draws the lines. chart.js finds each point as a g of class slot, in the order of the rows of the chart's
// table.
func (l *lines) picture() template.HTML {
	top := int64(0)
	for i := range l.points {
		for _, v := range l.points[i].values {
			top = max(top, v)
		}
	}
	var out strings.Builder
	openPicture(&out, l.label, axisTop(top), l.unit)
	top = max(axisTop(top), 1)
	slot := (chartWidth - chartLeft) / float64(max(len(l.points), 1))
	every := (len(l.points) + mostNames - 1) / mostNames
	for i := range l.points {
		p, x := &l.points[i], chartLeft+float64(i)*slot
		fmt.Fprintf(&out, `<g class="slot"><title>%s</title>%s`, template.HTMLEscapeString(p.title),
			box("hit", x, chartTop, slot, chartBottom-chartTop))
		if i%every == 0 {
			below(&out, x+slot/2, p.name)
		}
		out.WriteString(`</g>`)
	}
	for s := range l.series {
		l.draw(&out, s, slot, top)
	}
	return closePicture(&out)
}

// draw draws a series as one path. A point between two gaps becomes a short line, so that it is visible.
func (l *lines) draw(out *strings.Builder, series int, slot float64, top int64) {
	out.WriteString(`<path class="l` + strconv.Itoa(series+1) + `" d="`)
	command := "M"
	for i := range l.points {
		values := l.points[i].values
		if len(values) == 0 {
			command = "M"
			continue
		}
		x := chartLeft + (float64(i)+.5)*slot
		y := chartBottom - float64(values[series])/float64(top)*(chartBottom-chartTop)
		out.WriteString(command + tenth(x) + " " + tenth(y))
		alone := i+1 == len(l.points) || len(l.points[i+1].values) == 0
		if command == "M" && alone {
			out.WriteString("h3")
		}
		command = "L"
	}
	out.WriteString(`"/>`)
}

// box draws a rectangle as a path, which is shorter.
func box(class string, x, y, width, height float64) string {
	return `<path class="` + class + `" d="M` + tenth(x) + " " + tenth(y) + "h" + tenth(width) + "v" + tenth(height) +
		"h-" + tenth(width) + `"/>`
}

// tenth formats a coordinate with one decimal.
func tenth(x float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(x, 'f', 1, 64), ".0")
}

// niceTop returns the end of an axis that includes n, which is at least 1: a round number whose half is round, too.
func niceTop(n int64) int64 {
	const most = 100_000_000_000_000_000
	for unit := int64(1); unit <= most; unit *= 10 {
		for _, times := range []int64{2, 4, 6, 8, 10} {
			if unit*times >= n {
				return unit * times
			}
		}
	}
	return n
}
