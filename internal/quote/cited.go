package quote

import (
	"strings"

	"weir/internal/llm"
)

const (
	// aroundSentence is the most tokens of the marks around a sentence of a cited document.
	aroundSentence = 16
	// shortSentence is the least bytes of a sentence without punctuation at its end.
	shortSentence = 64
)

// cites adds the tokens that marks may add to a cited text document. Anthropic cuts it into sentences, each with a
// mark (https://platform.claude.com/docs/en/build-with-claude/citations, undated copy: "Document contents are
// 'chunked'"); at Cohere each chunk of a document that the client cut is a document of its own with its title, which
// a template may write as JSON.
func (r *Inputs) cites(kind llm.PartKind, m *llm.Media) {
	if kind != llm.PartDocument || !r.cited {
		return
	}
	if text, is := m.Text(); is {
		r.schemas += marks(text)
		r.escapes += escapes(text)
	}
	if d := m.Document; d != nil {
		r.escapes += escapes(d.Context)
		head := aroundOwn + int64(len(m.Name)+len(d.Source)) + escapes(m.Name) + escapes(d.Source)
		for _, chunk := range d.Chunks {
			r.schemas += head + marks(chunk)
			r.escapes += escapes(chunk)
		}
	}
}

// marks returns an upper bound of the tokens of the marks around the sentences of a text: a sentence ends with
// punctuation or is long. They are at most as many as the text has bytes, as for documents that are converted to
// text.
func marks(text string) int64 {
	sentences := 1 + len(text)/shortSentence
	for _, c := range text {
		if strings.ContainsRune(".!?;:\n\r\u2028\u2029\u3002\uff01\uff1f\uff0e\u2026\u0964\u061f\u06d4", c) {
			sentences++
		}
	}
	return min(int64(sentences)*aroundSentence, int64(len(text))+aroundSentence)
}
