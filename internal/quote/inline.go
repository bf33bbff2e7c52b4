package quote

import (
	"bytes"
	"encoding/base64"
	"strings"

	"weir/internal/llm"
	"weir/internal/pdf"
	"weir/internal/picture"
)

// enclosed holds the images, recordings and documents of a request, and the settings for counting them.
type enclosed struct {
	model  string // selects the rule for images and documents
	parsed bool   // the provider converts documents to text
	closer bool   // the request may choose a resolution
	cited  bool   // documents may be cut into sentences

	room       pdf.Room // memory for the documents
	inline     []string // media in base64, in the order of the body
	images     int64    // tokens of images and documents, and the minimum of recordings
	beyond     int64    // bytes of media that are counted by their content
	written    int64    // bytes of text in media
	recordings recordings
}

// enclosed returns the settings for counting media.
func (q *Quote) enclosed() enclosed {
	w := q.words()
	return enclosed{
		model: q.Target.Model, parsed: q.Quirks.ParsesDocuments, closer: w.closer, cited: w.cited,
		room: pdf.RoomFor(len(q.Body)),
	}
}

// media adds an image, a sound or a document. If it is not in the body, or its bytes do not bound its length, its
// size counts as hidden.
func (r *Inputs) media(kind llm.PartKind, m *llm.Media) {
	if m.Data != "" {
		r.inline = append(r.inline, m.Data)
	}
	measured := false
	if kind == llm.PartAudio {
		r.modalities = r.modalities.With(llm.AudioIn)
		measured = r.recordings.add(m)
	}
	r.cites(kind, m)
	switch d := m.Document; {
	case d != nil && d.Chunks != nil: // its texts are in the body
	case m.Data == "" || m.URL != "" || m.FileID != "":
		r.hidden = true
	case kind == llm.PartImage:
		r.images += picture.RuleOf(r.model).Count(m.Data)
		r.beyond += int64(len(m.Data))
	case measured:
		r.images += aroundSound
		r.recordings.tokens += int64(len(m.Data)) / soundBytes
	case strings.HasPrefix(m.MIME, "text/"):
		r.written += int64(len(m.Data)) // more than the text itself
	case kind == llm.PartDocument:
		r.document(m)
	default:
		r.hidden = true
	}
}

// inlinePDF is the beginning of a PDF in base64.
const inlinePDF = "JVBER"

// HasDocument reports whether a body may contain a PDF, whose parsing is slow for its length.
func HasDocument(body []byte) bool { return bytes.Contains(body, []byte(inlinePDF)) }

// document adds a document in the body. A PDF counts by its pages and text if it shows them and the target's way of
// reading PDFs is known; other documents count as hidden.
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
	// leastCut is the shortest medium, in bytes of base64, that is removed from the text before counting.
	leastCut = 256
	// mostMissed bounds the media that are not found because the body writes them differently, before the search
	// ends.
	mostMissed = 16
)

// without returns the body without its inline media. Media that are not found remain.
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
