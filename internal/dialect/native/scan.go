package native

import (
	"net/http"
	"strconv"
	"strings"
	"unicode"

	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// fields are the members of a request that are read. Others are ignored.
var fields = rawjson.Names{"model", "messages", "responsetype", "max_tokens", "temperature", "top_p", "stop"}

// Scan validates the body as strict JSON and reads its head. The client requests a stream by accepting
// text/event-stream. Errors are *llm.Error.
func Scan(body []byte, r *http.Request) (llm.Head, error) {
	head, err := parse.Body(body, "The body is not valid JSON",
		`such as {"messages": [{"role": "user", "prompt": "Hello"}]}`)
	if err != nil {
		return head, err
	}
	head.Stream, head.IncludeUsage = wantsStream(r.Header), true
	err = parse.Members(body, fields, "", func(m rawjson.Member) error { return scanMember(&head, m) })
	if err != nil {
		return llm.Head{}, err
	}
	return head, nil
}

func scanMember(head *llm.Head, m rawjson.Member) error {
	if !rawjson.Present(m.Value) {
		return nil
	}
	switch string(m.Key()) {
	case "model":
		name, ok := rawjson.AsString(m.Value)
		if !ok || !wellFormed(name) {
			return llm.Invalid("model",
				`The model must be "<provider>/<model-name>", such as "openai/gpt-5-mini", or the name of an alias, `+
					`without white space.`)
		}
		head.Model = name
		head.ModelSpan = llm.Span{Start: m.Start, End: m.Start + len(m.Value)}
	case "max_tokens":
		n, err := maxTokens(m.Value)
		if err != nil {
			return err
		}
		head.MaxOutput = n
	default:
		parse.Conversation(head, m)
	}
	return nil
}

// wellFormed reports whether a model name is possible: not empty, without white space and control characters, and
// with text on both sides of its first slash.
func wellFormed(name string) bool {
	provider, model, slash := strings.Cut(name, "/")
	if provider == "" || slash && model == "" {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || r == unicode.ReplacementChar
	})
}

// wantsStream reports whether an Accept header names text/event-stream with a weight above zero (RFC 9110, section
// 12.5.1).
func wantsStream(h http.Header) bool {
	for _, line := range h["Accept"] {
		for part := range strings.SplitSeq(line, ",") {
			kind, params, _ := strings.Cut(part, ";")
			if strings.EqualFold(strings.TrimSpace(kind), "text/event-stream") && weight(params) > 0 {
				return true
			}
		}
	}
	return false
}

// weight returns the q parameter of a media range; 1 if there is none.
func weight(params string) float64 {
	for p := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(p, "=")
		if !strings.EqualFold(strings.TrimSpace(name), "q") {
			continue
		}
		if q, err := strconv.ParseFloat(strings.TrimSpace(value), 64); err == nil {
			return q
		}
	}
	return 1
}
