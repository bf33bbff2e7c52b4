package simulator

import (
	"strconv"
	"strings"

	"weir/internal/dialect"
	"weir/internal/llm"
)

// countingsOf returns the APIs of servers of open models that count the tokens of a chat in a wire format, by route.
// They are free of charge. The counts of the client APIs are operations of their wire formats.
func countingsOf(d *dialect.Dialect) map[string][]*dialect.Operation {
	all := map[string][]*dialect.Operation{}
	if d.Name != "openai" {
		return all
	}
	for route, answer := range map[string]func(count int64) string{
		"POST /v1/chat/completions/input_tokens": func(count int64) string {
			return `{"object":"response.input_tokens","input_tokens":` + strconv.FormatInt(count, 10) + "}"
		},
		"POST /tokenize": func(count int64) string {
			list := strings.TrimSuffix(strings.Repeat("7,", int(count)), ",")
			return `{"count":` + strconv.FormatInt(count, 10) + `,"max_model_len":1000000,"tokens":[` + list + `]}`
		},
	} {
		all[route] = []*dialect.Operation{{
			Op: llm.OpCountTokens, Silent: true, Free: true, Routes: []string{route},
			Scan: d.Scan, DecodeRequest: d.DecodeRequest,
			EncodeReply: func(dst []byte, r *llm.Reply) []byte { return append(dst, answer(r.Counted)...) },
		}}
	}
	return all
}
