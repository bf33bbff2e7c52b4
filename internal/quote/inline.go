package quote

import (
	"bytes"
	"encoding/base64"
	"strings"

	"weir/internal/llm"
	"weir/internal/pdf"
	"weir/internal/picture"
)

// enclosed are the images, recordings and documents of a request, and what decides how they are counted.
type enclosed struct {
	model  string // whose rule counts images and documents
	parsed bool   // the provider reads documents into text itself
	closer bool   // the request may choose a resolution
	cited  bool   // it may have documents cut into sentences

	room    pdf.Room // for the documents
	inline  []string // media in base64, in the order of the body
	images  int64    // tokens of images and documents, and what recordings count at least
	beyond  int64    // bytes of what of these is counted by what is in it
	written int64    // bytes of what of these is text
	heard   heard
}

// enclosed begins to take note of them.
func (q *Quote) enclosed() enclosed {
	w := q.words()
	return enclosed{
		model: q.Target.Model, parsed: q.Quirks.ParsesDocuments, closer: w.closer, cited: w.cited,
		room: pdf.RoomFor(len(q.Body)),
	}
}

// media takes note of an image, a sound or a document. Where it is not in the
// body, and where its bytes say nothing of its length, its size is not shown.
func (r *Inputs) media(kind llm.PartKind, m *llm.Media) {
	if m.Data != "" {
		r.inline = append(r.inline, m.Data)
	}
	measured := false
	if kind == llm.PartAudio {
		r.modalities = r.modalities.With(llm.AudioIn)
		measured = r.hear(m)
	}
	r.cites(kind, m)
	switch d := m.Document; {
	case d != nil && d.Chunks != nil: // whose texts are in the body
	case m.Data == "" || m.URL != "" || m.FileID != "":
		r.hidden = true
	case kind == llm.PartImage:
		r.images += picture.RuleOf(r.model).Count(m.Data)
		r.beyond += int64(len(m.Data))
	case measured:
		r.images += aroundSound
		r.heard.tokens += int64(len(m.Data)) / soundBytes
	case strings.HasPrefix(m.MIME, "text/"):
		r.written += int64(len(m.Data)) // more than the text itself
	case kind == llm.PartDocument:
		r.document(m)
	default:
		r.hidden = true
	}
}

// inlinePDF is what a PDF begins with in base64.
const inlinePDF = "JVBER"

// HasDocument reports whether a body may have a PDF in it, which takes long to read for its length.
func HasDocument(body []byte) bool { return bytes.Contains(body, []byte(inlinePDF)) }

// document takes note of a document in the body. One is held by its pages and its text where it is a PDF that shows
// them, and where it is known what the target makes of one.
func (r *Inputs) document(m *llm.Media) {
	rule, n := picture.RuleOf(r.model), int64(0)
	if r.closer {
		rule = rule.Closer()
	}
	if !r.parsed && rule.Document(1, 0) > 0 && strings.HasPrefix(m.Data, inlinePDF) {
		b, err := base64.StdEncoding.DecodeString(m.Data)
		if size, ok := pdf.Read(b, &r.room); ok && err == nil {
			if r.cited {
				size.Text *= 2
			}
			n = rule.Document(size.Pages, size.Text)
		}
	}
	if n == 0 {
		r.hidden = true
		return
	}
	r.images += n
	r.beyond += int64(len(m.Data))
}

const (
	// leastCut is the shortest medium, in bytes of base64, that is worth taking
	// out of the text that is counted.
	leastCut = 256
	// mostMissed is how many media may be written otherwise than they were read,
	// and so not be found, before no more are looked for.
	mostMissed = 16
)

// without is the body without the media that it holds inline. What is not found
// in it stays.
func (r *Inputs) without(body []byte) []byte {
	var out []byte
	missed := 0
	for _, data := range r.inline {
		if len(data) < leastCut || missed == mostMissed {
			continue
		}
		at := bytes.Index(body, []byte(data))
		if at < 0 {
			missed++
			continue
		}
		out = append(out, body[:at]...)
		body = body[at+len(data):]
	}
	if out == nil {
		return body
	}
	return append(out, body...)
}
