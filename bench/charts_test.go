package main

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"weir/internal/must"
)

func TestChartsDrawEachFigure(t *testing.T) {
	t.Parallel()
	r := &findings{}
	s := r.section("throughput", "Throughput")
	s.row(onNginx).put(figPerCore, 40_000)
	s.row("weir <&>").put(figPerCore, 10_000)
	s.row("direct") // has no figure
	drawn := r.draw()
	widths, texts := []string{}, []string{}
	for d := xml.NewDecoder(strings.NewReader(drawn)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		must.Do(t, err)
		switch token := token.(type) {
		case xml.StartElement:
			if token.Name.Local == "rect" {
				widths = append(widths, token.Attr[3].Value)
			}
		case xml.CharData:
			texts = append(texts, string(token))
		}
	}
	must.Equal(t, widths, []string{"380.0", "95.0"}, "widths of the bars of\n%s", drawn)
	must.Equal(t, texts[1:], []string{"Requests per second of one core (more is better)", "nginx", "40000", "weir <&>", "10000", "\n"}, "texts")
}
