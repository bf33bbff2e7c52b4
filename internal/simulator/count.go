package simulator

import (
	"net/http"
	"strconv"
	"strings"

	"weir/internal/dialect"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// counting is an API of servers of open models, or of Bedrock, that counts the tokens of a chat. Those of the client
// APIs are operations of their wire formats.
type counting struct {
	route, dialect string
	suffix, whole  string                    // ends of the paths of a count and of a chat
	chat           []string                  // path of the chat in the body; nil for all of it
	answer         func(tokens int64) []byte // returns the whole reply
}

func countings() []counting {
	text := func(before, after string) func(int64) []byte {
		return func(tokens int64) []byte { return []byte(before + strconv.FormatInt(tokens, 10) + after) }
	}
	return []counting{
		{
			route: "POST /v1/chat/completions/input_tokens", dialect: "openai",
			answer: text(`{"object":"response.input_tokens","input_tokens":`, "}"),
		},
		{route: "POST /tokenize", dialect: "openai", answer: func(tokens int64) []byte {
			list := strings.TrimSuffix(strings.Repeat("7,", int(tokens)), ",")
			return text(`{"count":`, `,"max_model_len":1000000,"tokens":[`+list+`]}`)(tokens)
		}},
		{
			route: "POST /model/{target...}", dialect: "bedrock", suffix: "/count-tokens", whole: "/converse",
			chat: []string{"input", "converse"}, answer: text(`{"inputTokens":`, "}"),
		},
	}
}

// operation returns the count as an operation of the wire format. It is free of charge.
func (c *counting) operation(d *dialect.Dialect) *dialect.Operation {
	inner := func(body []byte) []byte {
		if c.chat == nil {
			return body
		}
		return rawjson.Get(body, c.chat...)
	}
	return &dialect.Operation{
		Op: llm.OpCountTokens, Silent: true, Free: true, Routes: []string{c.route}, Suffix: c.suffix,
		Scan: func(body []byte, r *http.Request) (llm.Head, error) {
			if target, ok := strings.CutSuffix(r.PathValue("target"), c.suffix); ok && c.suffix != "" {
				r.SetPathValue("target", target+c.whole)
			}
			return d.Scan(inner(body), r)
		},
		DecodeRequest: func(body []byte) (*llm.Request, error) { return d.DecodeRequest(inner(body)) },
		EncodeReply:   func(dst []byte, r *llm.Reply) []byte { return append(dst, c.answer(r.Counted)...) },
	}
}

// countingsOf returns the APIs of a wire format.
func countingsOf(d *dialect.Dialect) map[string][]*dialect.Operation {
	all := map[string][]*dialect.Operation{}
	for _, c := range countings() {
		if c.dialect == d.Name {
			all[c.route] = append(all[c.route], c.operation(d))
		}
	}
	return all
}
