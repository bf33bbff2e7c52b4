package compose

import (
	"slices"
	"strings"
	"unicode"

	"weir/internal/llm"
)

// WithoutSpaceAtEnd is a conversation whose last words, where they are the assistant's, have no white space at their end:
// Claude does not go on behind any (https://platform.claude.com/docs/en/build-with-claude/prefill-claudes-response,
// "Prefill content cannot end with trailing whitespace"). The messages stay as they are.
func WithoutSpaceAtEnd(messages []llm.Message) []llm.Message {
	for i := len(messages) - 1; i >= 0; i-- {
		m := &messages[i]
		switch {
		case m.Role == llm.RoleSystem: // it stands elsewhere
			continue
		case m.Role != llm.RoleAssistant:
			return messages
		}
		last := len(m.Parts) - 1
		for last >= 0 && isSilent(&m.Parts[last]) {
			last--
		}
		if last < 0 { // nothing is left of it
			continue
		}
		return trimmed(messages, i, last)
	}
	return messages
}

// trimmed is the messages with one text that is without white space at its end.
func trimmed(messages []llm.Message, at, part int) []llm.Message {
	p := &messages[at].Parts[part]
	text := strings.TrimRightFunc(p.Text, unicode.IsSpace)
	if !isWords(p) || len(text) == len(p.Text) {
		return messages
	}
	messages = slices.Clone(messages)
	messages[at].Parts = slices.Clone(messages[at].Parts)
	messages[at].Parts[part].Text = text
	return messages
}

func isWords(p *llm.Part) bool { return p.Kind == llm.PartText || p.Kind == llm.PartRefusal }

// isSilent reports whether a part is no end of what was said: white space alone, or thinking, which stands elsewhere.
func isSilent(p *llm.Part) bool {
	return p.Kind == llm.PartReasoning || isWords(p) && strings.TrimSpace(p.Text) == ""
}
