package responses

import (
	"encoding/json"
	"slices"

	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// includeLogprobs requests log probabilities (https://platform.openai.com/docs/api-reference/responses/create, undated
// copy of 2026).
const includeLogprobs = "message.output_text.logprobs"

// noteLogprobs notes a request for log probabilities.
func noteLogprobs(r *llm.Request) {
	l, wanted := llm.Logprobs{}, false
	for _, f := range r.Extra {
		switch f.Name {
		case "include":
			words := parse.StringsIn(f.Value)
			if wanted = slices.Contains(words, includeLogprobs); wanted && len(words) == 1 {
				l.Say(f.Name)
			}
		case "top_logprobs":
			if n, ok := rawjson.AsInt(f.Value); ok {
				l.ReadTop(f.Name, n)
			}
		}
	}
	if wanted {
		r.Logprobs = &l
	}
}

// tokensOf returns the tokens of an answer's texts.
func tokensOf(parts []llm.Part) json.RawMessage {
	var all []byte
	for i := range parts {
		if parts[i].Kind == llm.PartText {
			all = joinTokens(all, parse.ReadTokens(field(parts[i].Extra, "logprobs")))
		}
	}
	return listOf(all)
}

// listOf returns a list of the elements; nil for none.
func listOf(elements []byte) []byte {
	if elements == nil {
		return nil
	}
	return slices.Concat([]byte{'['}, elements, []byte{']'})
}

// joinTokens appends the elements of a list of tokens to others.
func joinTokens(dst, tokens []byte) []byte {
	if len(tokens) < 2 {
		return dst
	}
	return joinElements(dst, tokens[1:len(tokens)-1])
}

// joinElements appends elements of a list to others.
func joinElements(dst, elements []byte) []byte {
	return append(rawjson.AppendComma(dst), elements...)
}

// appendLogprobs writes the member for the elements of a list of tokens.
func appendLogprobs(dst, tokens []byte) []byte {
	return append(append(append(dst, `,"logprobs":[`...), tokens...), ']')
}

// appendBrief writes the member for tokens in the form of events, which omits bytes
// (https://platform.openai.com/docs/api-reference/responses-streaming/response/output_text/delta, undated copy of
// 2026).
func appendBrief(dst, tokens []byte) []byte {
	dst = append(dst, `,"logprobs":[`...)
	for _, e := range rawjson.Elements(tokens) {
		dst = rawjson.AppendComma(dst)
		dst = append(appendToken(dst, e), `,"top_logprobs":[`...)
		for _, e := range rawjson.Elements(rawjson.Get(e, "top_logprobs")) {
			dst = rawjson.AppendComma(dst)
			dst = append(appendToken(dst, e), '}')
		}
		dst = append(dst, "]}"...)
	}
	return append(dst, ']')
}

// appendToken writes a token and its log probability, without the closing brace.
func appendToken(dst, token []byte) []byte {
	dst = append(append(dst, `{"token":`...), rawjson.Get(token, "token")...)
	return append(append(dst, `,"logprob":`...), rawjson.Get(token, "logprob")...)
}

// withTokens assigns each text of an answer its tokens, and the last text all remaining ones.
func withTokens(parts []llm.Part, tokens []byte) {
	var texts []*llm.Part
	for i := range parts {
		if parts[i].Kind == llm.PartText {
			texts = append(texts, &parts[i])
		}
	}
	if len(texts) == 0 {
		return
	}
	at, size := 0, 0
	lists := make([][]byte, len(texts))
	for _, e := range rawjson.Elements(tokens) {
		for at < len(texts)-1 && size >= len(texts[at].Text) {
			at, size = at+1, 0
		}
		lists[at] = joinElements(lists[at], e)
		size += sizeOf(e)
	}
	for i, list := range lists {
		if list != nil {
			texts[i].Extra = append(slices.Clip(texts[i].Extra), llm.Field{Name: "logprobs", Value: listOf(list)})
		}
	}
}

// sizeOf counts the bytes of a token's text.
func sizeOf(token []byte) (n int) {
	for range rawjson.Elements(rawjson.Get(token, "bytes")) {
		n++
	}
	if n == 0 {
		n = len(rawjson.Text(rawjson.Get(token, "token")))
	}
	return n
}
