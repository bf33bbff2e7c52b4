package anthropic

import (
	"weir/internal/llm"
	"weir/internal/rawjson"
	"weir/internal/sse"
)

// cutOff is the maker of thinking that the encoder has to end, because its own stream broke off before the signature:
// no vendor accepts it in later requests.
const cutOff = "none"

// Follow records an event that was sent as the provider wrote it, so that the encoder can continue after it.
func (e *Encoder) Follow(frame sse.Event) {
	switch rawjson.Text(rawjson.Get(frame.Data, "type")) {
	case "message_start":
		e.begun = true
	case "content_block_start":
		if n, ok := rawjson.AsInt(rawjson.Get(frame.Data, "index")); ok && n >= 0 && n < maxBlocks {
			e.blocks = n + 1
		}
		e.open = openKind(rawjson.Get(frame.Data, "content_block"))
		e.signed, e.maker = false, cutOff
	case "content_block_delta":
		e.signed = e.signed || rawjson.Text(rawjson.Get(frame.Data, "delta", "type")) == "signature_delta"
	case "content_block_stop":
		e.open = 0
	}
}

func openKind(block []byte) llm.PartKind {
	switch rawjson.Text(rawjson.Get(block, "type")) {
	case "text":
		return llm.PartText
	case "thinking":
		return llm.PartReasoning
	case "tool_use":
		return llm.PartToolCall
	}
	return llm.PartOther
}
