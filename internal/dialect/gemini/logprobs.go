package gemini

import (
	"encoding/json"
	"strconv"

	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// logprobs writes another API's request for log probabilities.
func (e *requestEncoder) logprobs(r *llm.Request) {
	l := e.CarryLogprobs(r)
	if l == nil {
		return
	}
	e.InnerRaw("responseLogprobs", []byte("true"))
	if l.Top > 0 {
		e.InnerRaw("logprobs", strconv.AppendInt(nil, l.Top, 10))
	}
}

// readTokens reads a LogprobsResult: the chosen tokens, and the likely ones at each position
// (https://ai.google.dev/api/generate-content#LogprobsResult, undated copy of 2026).
func readTokens(result []byte) json.RawMessage {
	if result == nil {
		return nil
	}
	var s parse.Tokens
	var likely [][]byte
	chosen, places := get(result, "chosenCandidates"), 0
	for range list(chosen) {
		places++
	}
	for i, e := range list(get(result, "topCandidates")) {
		if i == places {
			break
		}
		likely = append(likely, get(e, "candidates"))
	}
	for i, e := range list(chosen) {
		if !s.Add(readToken(e)) || i >= len(likely) {
			continue
		}
		for _, e := range list(likely[i]) {
			s.AddLikely(readToken(e))
		}
	}
	return s.List()
}

func readToken(v []byte) parse.Token {
	return parse.Token{Text: get(v, "token"), Logprob: get(v, "logProbability")}
}

// appendLogprobs writes the tokens of another API's answer as a LogprobsResult.
func appendLogprobs(dst, tokens []byte) []byte {
	if tokens == nil {
		return dst
	}
	dst = append(dst, `,"logprobsResult":{"chosenCandidates":[`...)
	dst = appendCandidates(dst, tokens)
	dst = append(dst, `],"topCandidates":[`...)
	for _, e := range rawjson.Elements(tokens) {
		dst = rawjson.AppendComma(dst)
		dst = appendCandidates(append(dst, `{"candidates":[`...), rawjson.Get(e, "top_logprobs"))
		dst = append(dst, "]}"...)
	}
	return append(dst, "]}"...)
}

// appendCandidates writes the tokens of a list without the likely ones at their positions.
func appendCandidates(dst, tokens []byte) []byte {
	for _, e := range rawjson.Elements(tokens) {
		dst = rawjson.AppendComma(dst)
		dst = append(append(dst, `{"token":`...), rawjson.Get(e, "token")...)
		dst = append(append(dst, `,"logProbability":`...), rawjson.Get(e, "logprob")...)
		dst = append(dst, '}')
	}
	return dst
}
