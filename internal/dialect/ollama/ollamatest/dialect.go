// Package ollamatest is the server half of Ollama's own chat API, with which tests simulate a server: no client speaks
// it to the gateway.
package ollamatest

import (
	"weir/internal/dialect"
	"weir/internal/dialect/dialecttest"
	"weir/internal/dialect/ollama"
	"weir/internal/llm"
)

// optionsMember is the member with a model's parameters. The prefix begins the names of Extra fields for unmodelled
// parameters.
const (
	optionsMember = "options"
	optionPrefix  = optionsMember + "."
	outputCap     = "num_predict"
)

// Serve adds the server half to the wire format.
func Serve(d *dialect.Dialect) {
	d.UsageAt = [][]string{{"prompt_eval_count"}, {"eval_count"}}
	d.Vendor = ollama.Name
	d.Status, d.EncodeError = llm.Code.Status, EncodeError // https://docs.ollama.com/api/errors
	chat := &d.Operation
	chat.Routes, chat.Framing.Append = []string{"POST /api/chat"}, AppendLine
	chat.Scan, chat.DecodeRequest, chat.EncodeReply = Scan, DecodeRequest, EncodeReply
	chat.NewEncoder = func(m llm.Meta) dialect.Encoder { return NewEncoder(m) }
	chat.Splice, chat.Stamp, chat.HasUsage = Splice, Stamp, HasUsage
	texts := dialecttest.Embedding{Format: ollama.Name, Texts: "input", Dimensions: "dimensions"}
	embed := d.For(llm.OpEmbed)
	embed.Routes = []string{"POST /api/embed"}
	embed.Scan, embed.DecodeRequest, embed.EncodeReply = texts.Scan, texts.Decode, EncodeVectors
}
