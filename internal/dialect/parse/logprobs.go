package parse

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// NoteLogprobs reads a request for log probabilities from two extra fields: one that switches them on, and one with
// the number of likely tokens at each position.
func NoteLogprobs(r *llm.Request, whether, top string) {
	l, wanted := llm.Logprobs{}, false
	for _, f := range r.Extra {
		switch f.Name {
		case whether:
			if wanted, _ = rawjson.AsBool(f.Value); wanted {
				l.Say(f.Name)
			}
		case top:
			if n, ok := rawjson.AsInt(f.Value); ok {
				l.ReadTop(f.Name, n)
			}
		}
	}
	if wanted {
		r.Logprobs = &l
	}
}

// unlikely is OpenAI's value for a token without a known log probability
// (https://platform.openai.com/docs/api-reference/chat/object, undated copy of 2026).
const unlikely = "-9999.0"

// Token holds a token with its log probability, each member as JSON or nil. A token whose text is not a string is
// skipped.
type Token struct{ Text, Logprob, Bytes []byte }

// Tokens collects the tokens of an answer with their log probabilities.
type Tokens struct{ list []byte }

// Add appends a token and reports whether it did.
func (s *Tokens) Add(t Token) (added bool) {
	if rawjson.KindOf(t.Text) != rawjson.String {
		return false
	}
	if s.list == nil {
		s.list = append(s.list, '[')
	} else {
		s.list = append(s.list, "]},"...)
	}
	s.list = append(t.append(s.list), `,"top_logprobs":[`...)
	return true
}

// AddLikely appends a likely token at the position of the last token of Add.
func (s *Tokens) AddLikely(t Token) {
	if rawjson.KindOf(t.Text) != rawjson.String {
		return
	}
	s.list = rawjson.AppendComma(s.list)
	s.list = append(t.append(s.list), '}')
}

// List returns the tokens in the form of llm.Choice; nil for none.
func (s *Tokens) List() json.RawMessage {
	if s.list == nil {
		return nil
	}
	return append(s.list, "]}]"...)
}

// append appends the token in the form of Chat Completions, without its closing brace.
func (t *Token) append(dst []byte) []byte {
	dst = append(append(append(dst, `{"token":`...), t.Text...), `,"logprob":`...)
	if rawjson.KindOf(t.Logprob) == rawjson.Number {
		dst = append(dst, t.Logprob...)
	} else {
		dst = append(dst, unlikely...)
	}
	dst = append(dst, `,"bytes":`...)
	if rawjson.KindOf(t.Bytes) == rawjson.Array {
		return append(dst, t.Bytes...)
	}
	return appendBytes(dst, rawjson.Text(t.Text))
}

// appendBytes appends the bytes of a token's text; null if the text may be incomplete, such as a piece of a character
// that OpenAI writes as "\xf0\x9f".
func appendBytes(dst []byte, text string) []byte {
	if strings.ContainsRune(text, utf8.RuneError) || strings.Contains(text, `\x`) {
		return append(dst, "null"...)
	}
	dst = append(dst, '[')
	for i := range len(text) {
		dst = strconv.AppendInt(rawjson.AppendComma(dst), int64(text[i]), 10)
	}
	return append(dst, ']')
}

// ReadTokens reads tokens in the form of Chat Completions, which other formats share; nil for none.
func ReadTokens(v []byte) json.RawMessage {
	if rawjson.KindOf(v) != rawjson.Array {
		return nil
	}
	var s Tokens
	for _, e := range rawjson.Elements(v) {
		t, likely := readToken(e)
		if !s.Add(t) {
			continue
		}
		for _, e := range rawjson.Elements(likely) {
			t, _ := readToken(e)
			s.AddLikely(t)
		}
	}
	return s.List()
}

func readToken(v []byte) (t Token, likely []byte) {
	for m := range rawjson.Members(v) {
		switch string(m.Key()) {
		case "token":
			t.Text = m.Value
		case "logprob":
			t.Logprob = m.Value
		case "bytes":
			t.Bytes = m.Value
		case "top_logprobs":
			likely = m.Value
		}
	}
	return t, likely
}

// AddTokens adds tokens to the last piece of a choice's text in events[from:]. If there is none, it appends an event
// without text.
func AddTokens(events []llm.Event, from, choice int, tokens json.RawMessage) []llm.Event {
	if tokens == nil {
		return events
	}
	for i := len(events) - 1; i >= from; i-- {
		if e := &events[i]; e.Kind == llm.EventText && e.Choice == choice {
			e.Tokens = tokens
			return events
		}
	}
	return append(events, llm.Event{Kind: llm.EventText, Choice: choice, Tokens: tokens})
}
