// Package coheretest is the server half of Cohere's Chat API, with which tests simulate the vendor: no client speaks it
// to the gateway.
package coheretest

import (
	"weir/internal/dialect"
	"weir/internal/dialect/cohere"
	"weir/internal/dialect/dialecttest"
	"weir/internal/llm"
)

const outputCap = "max_tokens"

// Serve adds the server half to the wire format.
func Serve(d *dialect.Dialect) {
	// Of whole replies, message-end and embeddings
	d.UsageAt = [][]string{{"usage"}, {"delta", "usage"}, {"meta", "billed_units"}}
	d.Vendor = cohere.Name
	d.Status, d.EncodeError = llm.Code.Status, EncodeError // https://docs.cohere.com/reference/errors
	chat := &d.Operation
	chat.Routes, chat.EndMarker = []string{"POST /v2/chat"}, dialect.Done
	chat.Scan, chat.DecodeRequest, chat.EncodeReply = Scan, DecodeRequest, EncodeReply
	chat.NewEncoder = func(m llm.Meta) dialect.Encoder { return NewEncoder(m) }
	chat.Splice, chat.Stamp, chat.HasUsage = Splice, Stamp, HasUsage
	texts := dialecttest.Embedding{Format: cohere.Name, Texts: "texts", Dimensions: "output_dimension"}
	embed := d.For(llm.OpEmbed)
	embed.Routes = []string{"POST /v2/embed"}
	embed.Scan, embed.DecodeRequest, embed.EncodeReply = texts.Scan, texts.Decode, EncodeVectors
}
