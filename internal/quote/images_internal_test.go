package quote

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"fmt"
	"image"
	"image/png"
	"io"
	"os"
	"strings"
	"testing"

	"weir/internal/dialect"
	"weir/internal/must"
	"weir/internal/quotetest"
)

// inline returns a PNG of that size in base64.
func inline(t *testing.T, width, height int) string {
	t.Helper()
	var b bytes.Buffer
	must.Do(t, png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))))
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

// TestBoundOfImages compares the hold for an image with the count on its vendor's page: never less, and in the usual
// sizes at most three times as much.
func TestBoundOfImages(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		model         string
		width, height int
		truth         int64 // by the vendor's rule, with the dearest detail
		usual         bool
	}{
		{"claude-sonnet-4-5", 200, 200, 64, false},
		{"claude-sonnet-4-5", 1000, 1000, 1334, true}, // 1000 * 1000 / 750
		{"anthropic/claude-sonnet-4-6", 1092, 1092, 1590, true},
		{"claude-haiku-4-5-20251001", 4000, 3000, 1568, true},
		{"us.anthropic.claude-opus-4-7-v1:0", 1920, 1080, 69 * 39, true},
		{"claude-opus-5-5", 8000, 8000, 4784, true},
		{"gpt-4o", 1024, 1024, 765, true},
		{"gpt-4o", 512, 512, 255, true},
		{"gpt-4o", 2048, 4096, 1105, true},
		{"gpt-4o-mini", 1024, 1024, 2833 + 4*5667, true},
		{"gpt-4.1-mini", 1024, 1024, 1659, true},
		{"gpt-4.1-mini", 1800, 2400, 2353, true},
		{"gpt-5", 1024, 1024, 630, true},
		{"o4-mini", 1024, 1024, 1762, true},
		{"gpt-5-nano", 6000, 6000, 3779, true},
		{"gpt-5.4", 1024, 1024, 1024, true},
		{"gpt-5.5", 6000, 6000, 10000, true},
		{"gpt-6-luna", 2400, 2400, 6783, true}, // as measured
		{"gpt-6-luna", 5536, 5536, 35911, true},
		{"gemini-2.5-flash", 384, 384, 258, false},
		{"gemini-2.5-flash", 960, 540, 6 * 258, true},
		{"gemini-3-pro", 1024, 1024, 1120, true},
		{"gemini-3.8-flash", 3000, 2000, 2240, true},
	} {
		data := inline(t, tt.width, tt.height)
		body := `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,` + data + `"}}]}]}`
		for _, how := range []Precision{Coarse, Fine} {
			q := newAsked(t, quotetest.Asked{ClientAPI: "openai", Model: tt.model, Body: body})
			u := q.bound(how)
			got := u.InputTokens() - dialect.Around(tt.model)
			if got < tt.truth || tt.usual && got > 3*tt.truth+200 {
				t.Errorf("%s, %d by %d pixels in %d bytes: %d tokens held, want %d to %d", tt.model, tt.width, tt.height, len(data), got, tt.truth, 3*tt.truth+200)
			}
		}
	}
}

// TestBoundOfDocuments compares the hold for a PDF of one page, as a browser prints it, with its text and the vendor's
// count for the page: never less, and at most five times as much. Any other PDF is held at the window.
func TestBoundOfDocuments(t *testing.T) {
	t.Parallel()
	const words = `The quick brown fox jumps over the lazy dog and walks along the river until the evening comes, when “quotes” matter. `
	text := CountTokens("Report\n" + strings.Repeat(words, 26))
	page := base64.StdEncoding.EncodeToString(must.Get(os.ReadFile("testdata/page.pdf"))(t))
	for _, tt := range []struct {
		model, data string
		truth       int64 // 0 for the window
	}{
		{"claude-sonnet-4-5", page, text + 1568},
		{"claude-opus-5-5", page, text*13/10 + 37*47}, // of 1024 by 1325 pixels, and the newer vocabulary
		{"gpt-4o", page, text + 1105},
		{"gpt-5.4", page, text + 32*42},
		{"gpt-5-mini", page, text + 32*42*162/100},
		{"gemini-2.5-flash", page, 258},
		{"gemini-3-pro", page, 560},
		{"another", page, 0},
		{"claude-sonnet-4-5", base64.StdEncoding.EncodeToString([]byte("%PDF-1.7 stream")), 0},
	} {
		body := `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,` + tt.data + `"}}]}]}`
		for _, how := range []Precision{Coarse, Fine} {
			q := newAsked(t, quotetest.Asked{ClientAPI: "openai", Model: tt.model, Body: body, Sizes: sized()})
			u := q.bound(how)
			got := u.InputTokens()
			if tt.truth == 0 {
				if got != window {
					t.Errorf("%s: %d tokens held, want the window, %d", tt.model, got, window)
				}
				continue
			}
			t.Logf("%s: %d tokens held, %d true: %.1f", tt.model, got, tt.truth, float64(got)/float64(tt.truth))
			if got -= dialect.Around(tt.model); got < tt.truth || got > 5*tt.truth {
				t.Errorf("%s: %d tokens held, want %d to %d", tt.model, got, tt.truth, 5*tt.truth)
			}
		}
	}
}

// TestDocumentsShareRoom checks that the PDFs of one request share one bound of inflated bytes: the request is held at
// the window if they exceed it.
func TestDocumentsShareRoom(t *testing.T) {
	t.Parallel()
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	must.Get(io.WriteString(z, strings.Repeat("() Tj ", 1<<20)))(t)
	must.Do(t, z.Close())
	file := fmt.Sprintf("%%PDF-1.7\n1 0 obj <</Type/Page/Contents 2 0 R>> endobj 2 0 obj <</Filter/FlateDecode>> stream\n%s\nendstream endobj", packed.String())
	part := `{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,` + base64.StdEncoding.EncodeToString([]byte(file)) + `"}}`
	padding := strings.Repeat(" ", 1<<20) // for the first one's sake
	for _, tt := range []struct {
		documents int
		isWindow  bool
	}{{1, false}, {50, true}} {
		body := `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[` + padding + strings.TrimSuffix(strings.Repeat(part+",", tt.documents), ",") + `]}]}`
		q := newAsked(t, quotetest.Asked{ClientAPI: "openai", Model: "gpt-4o", Body: body})
		if inputs := q.inputs(); inputs.hidden != tt.isWindow {
			t.Errorf("%d documents that become 6 MB each: held at the window: %t, want %t", tt.documents, inputs.hidden, tt.isWindow)
		}
	}
}
