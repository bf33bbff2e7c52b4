package native

import (
	"strconv"

	"weir/internal/dialect/stamp"
	"weir/internal/llm"
)

// appendTokens appends the members of the usage object.
func appendTokens(dst []byte, u *llm.Usage) []byte {
	dst = strconv.AppendInt(append(dst, `"prompt_tokens":`...), u.InputTokens(), 10)
	dst = strconv.AppendInt(append(dst, `,"completion_tokens":`...), u.OutputTokens(), 10)
	return strconv.AppendInt(append(dst, `,"total_tokens":`...), u.TotalTokens(), 10)
}

// appendFinal appends the usage of a stream's last object, with its cost in US dollars, and the attempts if there was
// more than one.
func appendFinal(dst []byte, f *llm.Final) []byte {
	dst = appendTokens(append(dst, `,"usage":{`...), &f.Usage)
	if f.Cost != nil {
		dst = f.Cost.AppendText(append(dst, `,"cost":`...))
	}
	return stamp.Attempts(append(dst, '}'), f)
}
