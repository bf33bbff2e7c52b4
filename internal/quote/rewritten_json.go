package quote

import (
	"slices"
	"strings"

	"weir/internal/llm"
)

// Servers of open models parse the JSON of tools and calls, and a template writes it again before the tokens are
// counted: with ", " and ": " (Python,
// https://github.com/vllm-project/vllm/blob/main/vllm/entrypoints/chat_utils.py), with each element on a line of its
// own (Llama 3.1 to 4: tojson(indent=4)), with True for true, with 1000000000000000.0 for 1e15, each argument between
// marks (Qwen3 Coder, GLM, MiniMax), and with other escapes, also in results: tojson of Jinja and minijinja, and Go's
// encoding/json in Ollama, write < as \u003c, Jinja writes é as \u00e9
// (https://jinja.palletsprojects.com/en/stable/templates/#jinja-filters.tojson), and Python's repr writes U+007F as
// \x7f. JSON that becomes shorter counts at its original length.
const (
	// spaceRun is the number of spaces that every vocabulary has as one token: Llama 2's longest run is 16.
	spaceRun = 16
	// indent is the number of spaces per level of nesting.
	indent = 4
	// schemaDepth is the number of levels around a schema: a list of tools, the tool, its function.
	schemaDepth = 3
	// toolLayout is the number of tokens of white space around the name and the parameters of a tool.
	toolLayout = 20
	// callMarks is the number of tokens around an argument of a call, without its name and its value. The longest are
	// DeepSeek V3.2's: <｜DSML｜parameter name="…" string="true">…</｜DSML｜parameter>.
	callMarks = 14
	// longestNumber bounds the digits of a number with an exponent when it is written without one, in addition to as
	// many zeros as its exponent.
	longestNumber = 20
	// mostZeros exceeds the exponent of any number.
	mostZeros = 330
)

// schema adds the JSON of a tool or of an answer's format.
func (r *Inputs) schema(v []byte) {
	r.schemas += layout(v, schemaDepth, 0)
	r.escapes += escapes(v)
}

// function adds a tool, if it is a function.
func (r *Inputs) function(t *llm.Tool) {
	if t.Raw != nil || t.Search != nil {
		return
	}
	r.schemas += toolLayout
	r.escapes += escapes(t.Description)
	r.schema(t.Parameters)
}

// result adds a tool result, which templates may write as a JSON string.
func (r *Inputs) result(parts []llm.Part) {
	for i := range parts {
		r.escapes += escapes(parts[i].Text)
	}
}

// call adds the arguments of an earlier tool call.
func (r *Inputs) call(c *llm.ToolCall) {
	r.schemas += layout(c.Arguments, 1, callMarks)
	r.escapes += escapes(c.Arguments)
}

// layout returns an upper bound of the tokens, for white space and digits, that the JSON of a tool or a call can have
// beyond its bytes when it is written again: depth levels deep, with around tokens for each member of the outermost
// object.
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

// lineTokens returns the tokens of a line's end and of the next line's indentation at that depth.
func lineTokens(depth int64) int64 { return 1 + (indent*depth+spaceRun-1)/spaceRun }

// zeros returns an upper bound of the digits of a number with an exponent beyond its bytes.
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

// escapes returns an upper bound of the bytes that a server's escapes add to a text: six for <, three for U+007F, and
// up to eight for each character beyond ASCII.
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

// closed reports whether the target's model runs only on its vendor's servers, which are not known to write longer
// escapes. Models with the vocabulary of this package are OpenAI's; all except the open ones are closed.
func (o *Offer) closed() bool {
	model := o.Target.Model
	name := model[strings.LastIndexByte(model, '/')+1:]
	if sameVocabulary(model) {
		return !strings.HasPrefix(name, "gpt-oss")
	}
	return slices.ContainsFunc(o.Speaks.Inputs.Closed, func(p string) bool { return strings.HasPrefix(name, p) })
}
