package quote

import (
	"slices"
	"strings"

	"weir/internal/llm"
)

// Servers of open models parse the JSON of tools and of calls and have a template write it anew before they count:
// with ", " and ": " (Python, https://github.com/vllm-project/vllm/blob/main/vllm/entrypoints/chat_utils.py), with each
// element on a line of its own (Llama 3.1 to 4: tojson(indent=4)), with True for true, with 1000000000000000.0 for
// 1e15, each argument between marks (Qwen3 Coder, GLM, MiniMax), and with other escapes, also of results: Jinja's and
// minijinja's own tojson and Go's encoding/json, which Ollama has, write < as \u003c, and Jinja's é as \u00e9
// (https://jinja.palletsprojects.com/en/stable/templates/#jinja-filters.tojson), Python's repr U+007F as \x7f. What is
// shorter in another way of writing counts as it came.
const (
	// spaceRun is how many spaces every vocabulary has as one token: Llama 2's longest are 16.
	spaceRun = 16
	// indent is how many spaces a level of nesting has.
	indent = 4
	// schemaDepth is in how many levels a schema stands: a list of tools, the tool, its function.
	schemaDepth = 3
	// toolLayout are the tokens of the white space around the name and the parameters of a tool.
	toolLayout = 20
	// callMarks are the tokens around an argument of a call, beside its name and its value:
	// <｜DSML｜parameter name="…" string="true">…</｜DSML｜parameter> of DeepSeek V3.2 are the longest.
	callMarks = 14
	// longestNumber is how many digits a number with an exponent has at most that is written without one, beside as many
	// zeros as its exponent says.
	longestNumber = 20
	// mostZeros is more than the exponent of any number.
	mostZeros = 330
)

// schema takes note of the JSON of a tool or of what an answer must look like.
func (r *Inputs) schema(v []byte) {
	r.schemas += layout(v, schemaDepth, 0)
	r.escapes += escapes(v)
}

// function takes note of a tool, if it is a function.
func (r *Inputs) function(t *llm.Tool) {
	if t.Raw != nil || t.Search != nil {
		return
	}
	r.schemas += toolLayout
	r.escapes += escapes(t.Description)
	r.schema(t.Parameters)
}

// result takes note of a result of a tool, which templates may write as a string of JSON.
func (r *Inputs) result(parts []llm.Part) {
	for i := range parts {
		r.escapes += escapes(parts[i].Text)
	}
}

// call takes note of the arguments of a call in the history.
func (r *Inputs) call(c *llm.ToolCall) {
	r.schemas += layout(c.Arguments, 1, callMarks)
	r.escapes += escapes(c.Arguments)
}

// layout is how many tokens the JSON of a tool or of a call has at most beyond its own bytes when it is written anew,
// so many levels deep, with so many tokens around each member of the outermost object: white space and digits.
func layout[T string | []byte](v T, depth, around int64) (n int64) {
	outermost, quoted := depth+1, false
	for i := 0; i < len(v); i++ {
		switch c := v[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case quoted:
		case c == ':':
			n++
			if depth == outermost {
				n += around
			}
		case c == ',':
			n += lineTokens(depth)
		case c == '{', c == '[':
			depth++
			n += lineTokens(depth)
		case c == '}', c == ']':
			depth = max(0, depth-1)
			n += lineTokens(depth)
		case (c == 'e' || c == 'E') && i > 0 && isDigit(v[i-1]):
			n += zeros(v[i+1:])
		}
	}
	return n
}

// lineTokens are those of the end of a line and of what it begins with in so many levels.
func lineTokens(depth int64) int64 { return 1 + (indent*depth+spaceRun-1)/spaceRun }

// zeros is how many digits a number may have that ends with an exponent, beyond its bytes.
func zeros[T string | []byte](exponent T) (n int64) {
	for i := 0; i < len(exponent) && n < mostZeros; i++ {
		switch c := exponent[i]; {
		case isDigit(c):
			n = 10*n + int64(c-'0')
		case c != '+' && c != '-':
			return n + longestNumber
		}
	}
	return min(n, mostZeros) + longestNumber
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// escapes is how many bytes a text has at most beyond its own when a server escapes it: six for <, four for U+007F and
// six or twelve for each character beyond ASCII.
func escapes[T string | []byte](text T) (n int64) {
	for i := range len(text) {
		switch c := text[i]; {
		case c == '<' || c == '>' || c == '&' || c == '\'':
			n += 6
		case c == 0x7f:
			n += 3
		case c >= 0xf0:
			n += 8
		case c >= 0xe0:
			n += 3
		case c >= 0xc0:
			n += 4
		}
	}
	return n
}

// closed says whether only its vendor's servers run the target's model, which write nothing with longer escapes as far as
// is known. A model that counts by the vocabulary which is here is OpenAI's, but for those that are open.
func (q *Quote) closed() bool {
	model := q.Target.Model
	name := model[strings.LastIndexByte(model, '/')+1:]
	if sameVocabulary(model) {
		return !strings.HasPrefix(name, "gpt-oss")
	}
	return slices.ContainsFunc(q.Speaks.Inputs.Closed, func(p string) bool { return strings.HasPrefix(name, p) })
}
