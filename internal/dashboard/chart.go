package dashboard

import (
	"fmt"
	"html/template"
	"strconv"
	"strings"
)

// maxSeries is how many series a chart has colours for.
const maxSeries = 6

// bars is a picture of bars side by side, each a stack of series.
type bars struct {
	label string // what the picture shows, for those who hear it
	unit  func(int64) string
	stack []stack
}

// stack is one bar.
type stack struct {
	name   string  // under the bar
	title  string  // of the whole of it
	values []int64 // by series, at most maxSeries; none is negative
}

func (s *stack) sum() (n int64) {
	for _, v := range s.values {
		n += v
	}
	return n
}

// The picture's measures, in the units of its viewBox.
const (
	chartWidth  = 720.0
	chartLeft   = 60.0
	chartTop    = 12.0
	chartBottom = 172.0
	chartHeight = 196.0
	mostNames   = 10 // under the bars
)

// picture draws the bars. Chart.js finds each as a g of class slot, in the order
// of the rows of the chart's table.
func (b *bars) picture() template.HTML {
	top := int64(1)
	for i := range b.stack {
		top = max(top, b.stack[i].sum())
	}
	top = niceTop(top)
	var out strings.Builder
	fmt.Fprintf(&out, `<svg viewBox="0 0 %g %g" role="img" aria-label="%s">`, chartWidth, chartHeight,
		template.HTMLEscapeString(b.label))
	fmt.Fprintf(&out, `<path class="axis" d="M%g %gH%gM%g %gH%g"/>`, chartLeft, chartTop, chartWidth, chartLeft,
		(chartTop+chartBottom)/2, chartWidth)
	for i, y := range []float64{chartTop, (chartTop + chartBottom) / 2, chartBottom} {
		fmt.Fprintf(&out, `<text x="%g" y="%g" text-anchor="end">%s</text>`, chartLeft-8, y+4,
			template.HTMLEscapeString(b.unit(top*int64(2-i)/2)))
	}
	b.draw(&out, top)
	fmt.Fprintf(&out, `<path class="base" d="M%g %gH%g"/></svg>`, chartLeft, chartBottom, chartWidth)
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
				height := max(float64(v)/float64(top)*(chartBottom-chartTop), 1) // what is there is seen
				y -= height
				out.WriteString(box("d"+strconv.Itoa(n+1), x+(slot-width)/2, y, width, height))
			}
		}
		if i%every == 0 {
			fmt.Fprintf(out, `<text x="%s" y="%g" text-anchor="middle">%s</text>`, tenth(x+slot/2), chartHeight-4,
				template.HTMLEscapeString(s.name))
		}
		out.WriteString(`</g>`)
	}
}

// box is a rectangle as a path, which is shorter.
func box(class string, x, y, width, height float64) string {
	return `<path class="` + class + `" d="M` + tenth(x) + " " + tenth(y) + "h" + tenth(width) + "v" + tenth(height) +
		"h-" + tenth(width) + `z"/>`
}

// tenth writes a measure to a tenth of a unit.
func tenth(x float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(x, 'f', 1, 64), ".0")
}

// niceTop is where an axis ends that reaches n, from 1 up: a round number whose
// half is one, too.
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
