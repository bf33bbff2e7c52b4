package gateway

import (
	"errors"
	"strconv"
	"strings"

	"weir/internal/dialect"
	"weir/internal/llm"
)

// placed returns an encoder's error with the path of the mistake in the client's request. Encoders name options as Chat
// Completions does and count messages after decoding, where a system prompt is a message and several elements may be
// one.
func placed(err error, messages []llm.Message, d *dialect.Dialect) error {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return err
	}
	if name := d.Names[e.Param]; name != "" {
		told := *e
		told.Param = name
		return &told
	}
	if d.Conversation == "" {
		return err
	}
	rest, ok := strings.CutPrefix(e.Param, "messages[")
	index, rest, closed := strings.Cut(rest, "]")
	message, isNumber := strconv.Atoi(index)
	if !ok || !closed || isNumber != nil || message < 0 || message >= len(messages) {
		return err
	}
	told := *e
	told.Param = d.Beside
	if at := messages[message].At; at > 0 {
		told.Param = d.Conversation + "[" + strconv.Itoa(at-1) + "]"
	}
	told.Param += inner(rest, d)
	return &told
}

// inner returns the rest of the path below a message in the client's format, if it is known.
func inner(rest string, d *dialect.Dialect) string {
	if d.Parts == "" {
		return rest
	}
	if part, ok := strings.CutPrefix(rest, ".content"); ok {
		return "." + d.Parts + part
	}
	return ""
}
