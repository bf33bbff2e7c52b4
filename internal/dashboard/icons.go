package dashboard

import (
	"fmt"
	"html/template"
	"math"
	"strings"
)

// icons are line drawings on a square of 20.
var icons = map[string]string{
	"overview":   `<path d="M3 14a7 7 0 1 1 14 0"/><path d="M10 14l3.500-5"/><path d="M3 17h14"/>`,
	"keys":       `<circle cx="7" cy="13" r="3.500"/><path d="M9.500 10.500 16.500 3.500M13.500 6.500l2.500 2.500"/>`,
	"usage":      `<path d="M3 17h14M5 17v-5M10 17V4M15 17V8"/>`,
	"requests":   `<path d="M7 5h10M7 10h10M7 15h10M3 5h.5M3 10h.5M3 15h.5"/>`,
	"sockets":    `<path d="M4 7h11M12 4l3 3-3 3M16 13H5M8 10l-3 3 3 3"/>`,
	"playground": `<path d="M3 4h14v10H9l-4 3v-3H3z"/><path d="M7 8h6M7 11h3"/>`,
	"models":     `<path d="m10 3 7 4-7 4-7-4zM3 11l7 4 7-4"/>`,
	"webhooks": `<circle cx="10" cy="5" r="2"/><circle cx="5" cy="15" r="2"/><circle cx="15" cy="15" ` +
		`r="2"/><path d="M9 7 6 13M11 7l3 6M7 15h6"/>`,
	"members": `<circle cx="7.500" cy="7" r="3"/><path d="M2.500 17c0-3 2-5 5-5s5 2 5 5M13 4.500a3 3 0 0 1 0 ` +
		`5M14.500 12.500c2 .7 3 2.300 3 4.500"/>`,
	"accounts":  `<path d="M3 17V8l7-5 7 5v9zM8 17v-5h4v5"/>`,
	"providers": `<path d="M4 4h12v4H4zM4 12h12v4H4zM7 6h.5M7 14h.5"/>`,
	"tools":     `<path d="M12 3a5 5 0 0 0-4 7l-5 5 2 2 5-5a5 5 0 0 0 7-4l-3 1-2-2z"/>`,
	"prices":    `<path d="M10 3H4v6l7.500 7.500 6-6zM7 6.500h.1"/>`,
	"alerts":    `<path d="M5 14V9a5 5 0 0 1 10 0v5l1.500 2h-13zM8.500 18.500h3"/>`,
	"audit":     `<path d="M5 3h10v14H5zM8 7h4M8 10h4M8 13h2"/>`,
	"system":    `<path d="M2 10h4l2-5 4 10 2-5h4"/>`,
	"settings": `<path d="M3 6h7M14 6h3M3 14h3M10 14h7"/><circle cx="12" cy="6" r="2"/><circle cx="8" cy="14" ` +
		`r="2"/>`,
	"list":     `<path d="M5 3h10v14H5zM8 6.500h4M8 10h4M8 13.500h4M2.500 6.500h.5M2.500 10h.5M2.500 13.500h.5"/>`,
	"out":      `<path d="M12 4H4v12h8M9 10h8M14 7l3 3-3 3"/>`,
	"copy":     `<path d="M7 7h10v10H7zM13 7V3H3v10h4"/>`,
	"chevrons": `<path d="m6.500 8 3.500-4 3.500 4M6.500 12l3.500 4 3.500-4"/>`,
	"plus":     `<path d="M10 4v12M4 10h12"/>`,
}

// icon returns an icon by its name. Screen readers skip it, because the text next to it says the same.
func icon(name string) template.HTML {
	return template.HTML(
		`<svg viewBox="0 0 20 20" width="20" height="20" fill="none" stroke="currentColor" stroke-width="1.500" ` +
			`stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">` +
			icons[name] + `</svg>`)
}

// gauge draws the picture of the sign-in pages: a staff gauge in a river.
func gauge() template.HTML {
	var b strings.Builder
	b.WriteString(`<svg viewBox="0 0 600 800" preserveAspectRatio="xMidYMid slice" fill="none" ` +
		`stroke="currentColor" stroke-linecap="round">`)
	for i := range 14 {
		y := 470 + 9*float64(i)*(1+float64(i)/9)
		fmt.Fprintf(&b, `<path stroke-width="1.500" opacity="%.2f" d="%s"/>`, 0.8-0.045*float64(i),
			wave(y, 5+float64(i)*1.1, 150+float64(i)*22, float64(i)*1.7))
	}
	for i := range 41 {
		y, length := 700-14*i, 14
		if i%5 == 0 {
			length = 34
			fmt.Fprintf(&b, `<text x="188" y="%d" fill="currentColor" stroke="none" font-size="13" `+
				`opacity="%s">%.1f</text>`, y+5, beneath(y), float64(i)/10)
		}
		fmt.Fprintf(&b, `<path stroke-width="1.500" opacity="%s" d="M140 %dh%d"/>`, beneath(y), y, length)
	}
	b.WriteString(`<path stroke-width="2" opacity=".9" d="M140 120V470"/><path stroke-width="2" opacity=".3" ` +
		`d="M140 470V720"/></svg>`)
	return template.HTML(b.String())
}

// beneath returns the opacity of a mark of the gauge, which is lower under water.
func beneath(y int) string {
	if y > 470 {
		return ".3"
	}
	return ".9"
}

// wave returns the path of a wave of that height and length across the picture.
func wave(y, height, length, phase float64) string {
	var b strings.Builder
	for x := -400.0; x <= 1000; x += 20 {
		command := "L"
		if x == -400 {
			command = "M"
		}
		fmt.Fprintf(&b, "%s%.0f %.1f", command, x, y+height*math.Sin(2*math.Pi*x/length+phase))
	}
	return b.String()
}
