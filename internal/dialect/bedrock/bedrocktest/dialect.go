// Package bedrocktest is the server half of Amazon Bedrock's Converse and ConverseStream, with which tests simulate the
// service: no client speaks it to the gateway.
package bedrocktest

import (
	"net/http"
	"strconv"
	"strings"

	"weir/internal/dialect"
	"weir/internal/dialect/bedrock"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// The operations at the end of a path.
const (
	whole    = "/converse"
	streamed = "/converse-stream"
	count    = "/count-tokens"
	route    = "POST /model/{target...}"
)

// Serve adds the server half to the wire format.
func Serve(d *dialect.Dialect) {
	d.UsageAt = [][]string{{"usage"}, {"inputTextTokenCount"}} // of chats and embeddings
	d.Status, d.EncodeError = vocabulary.Status, EncodeError
	chat := &d.Operation
	chat.Routes, chat.Framing.Append = []string{route}, AppendFrame
	chat.Scan, chat.DecodeRequest, chat.EncodeReply = Scan, DecodeRequest, EncodeReply
	chat.NewEncoder = func(m llm.Meta) dialect.Encoder { return NewEncoder(m) }
	chat.Splice, chat.Stamp, chat.HasUsage = Splice, Stamp, HasUsage
	embed := d.For(llm.OpEmbed)
	embed.Routes, embed.Suffix = []string{route}, bedrock.EmbedSuffix
	embed.Scan, embed.DecodeRequest, embed.EncodeReply = ScanEmbed, DecodeEmbed, EncodeVectors
	d.Operations = append(d.Operations, counting())
}

// counting returns the count of a chat's tokens, whose body has the chat
// (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_CountTokens.html).
func counting() *dialect.Operation {
	chat := func(body []byte) []byte { return rawjson.Get(body, "input", "converse") }
	return &dialect.Operation{
		Op: llm.OpCountTokens, Silent: true, Free: true, Routes: []string{route}, Suffix: count,
		Scan: func(body []byte, r *http.Request) (llm.Head, error) {
			r.SetPathValue("target", strings.TrimSuffix(r.PathValue("target"), count)+whole)
			return Scan(chat(body), r)
		},
		DecodeRequest: func(body []byte) (*llm.Request, error) { return DecodeRequest(chat(body)) },
		EncodeReply: func(dst []byte, r *llm.Reply) []byte {
			return append(strconv.AppendInt(append(dst, `{"inputTokens":`...), r.Counted, 10), '}')
		},
	}
}
