package quote

import (
	"strings"

	"weir/internal/llm"
)

const (
	// aroundSentence are the tokens at most of the marks around a sentence of a document that is cited.
	aroundSentence = 16
	// shortSentence is how many bytes a sentence has at least that ends without a sign.
	shortSentence = 64
)

// cites takes note of the tokens that a document of text may have around it where it is cited. Anthropic cuts it into
// sentences, each with a mark (https://platform.claude.com/docs/en/build-with-claude/citations, undated copy:
// "Document contents are 'chunked'"); Cohere has the chunks of one that the client cut as documents of their own,
// each with its title, which a template may write as JSON.
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

// marks returns the tokens, at most, of the marks around the sentences of a text: each sentence ends with a sign or is
// long. They are no more than the text has bytes, as for documents that are read into text.
func marks(text string) int64 {
	sentences := 1 + len(text)/shortSentence
	for _, c := range text {
		if strings.ContainsRune(".!?;:\n\r\u2028\u2029\u3002\uff01\uff1f\uff0e\u2026\u0964\u061f\u06d4", c) {
			sentences++
		}
	}
	return min(int64(sentences)*aroundSentence, int64(len(text))+aroundSentence)
}
