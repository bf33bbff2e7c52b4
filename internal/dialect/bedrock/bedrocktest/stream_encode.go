package bedrocktest

import (
	"weir/internal/dialect/bedrock"
	"weir/internal/dialect/stamp"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// block is the kind of the open block.
type block uint8

const (
	noBlock block = iota
	textBlock
	thoughtBlock
	callBlock
)

// maxCalls bounds the tool calls of a stream.
const maxCalls = 1024

// Encoder writes one stream of ConverseStream's events.
type Encoder struct {
	begun bool
	kind  block
	index int64   // of the open block, or of the next one
	calls []int64 // the block of each tool call
	data  []byte  // the payload in progress
	cited bool    // the open block has a citation, and ends with its claim
}

// NewEncoder returns an encoder of one stream. The format has no place for an id or a model, and always reports its
// usage.
func NewEncoder(llm.Meta) *Encoder { return &Encoder{} }

// Append writes a piece of the answer, which has one choice. The start of the message precedes the first piece; before
// that it writes nothing.
func (e *Encoder) Append(dst []byte, ev *llm.Event) []byte {
	if ev.Choice != 0 {
		return dst
	}
	switch ev.Kind {
	case llm.EventText, llm.EventRefusal:
		if ev.Text != "" {
			if e.cited {
				dst = e.close(dst)
			}
			return e.piece(e.open(dst, textBlock), `{"text":`, ev.Text, "}")
		}
	case llm.EventClaim:
		if ev.RawOf != bedrock.Name {
			dst = e.openDelta(e.open(dst, textBlock))
			e.data = append(bedrock.AppendCitation(append(e.data, `{"citation":`...), &ev.Claim.Source), '}')
			e.cited = true
			return e.closeDelta(dst)
		}
	case llm.EventReasoning:
		return e.thought(dst, ev)
	case llm.EventToolCall:
		return e.call(dst, ev)
	case llm.EventOther:
		if ev.RawOf == bedrock.Name {
			dst = e.openDelta(e.open(dst, textBlock))
			e.data = append(e.data, ev.Raw...)
			return e.closeDelta(dst)
		}
		if text := ev.Words(); text != "" {
			return e.piece(e.open(dst, textBlock), `{"text":`, text, "}")
		}
	}
	return dst
}

// open stops the open block, unless it is of that kind.
func (e *Encoder) open(dst []byte, kind block) []byte {
	if !e.begun {
		e.begun = true
		dst = AppendFrame(dst, "messageStart", []byte(`{"role":"assistant"}`))
	}
	if e.kind != kind {
		dst = e.close(dst)
		e.kind = kind
	}
	return dst
}

// close stops the open block.
func (e *Encoder) close(dst []byte) []byte {
	if e.kind == noBlock {
		return dst
	}
	e.data = append(e.at(e.index), '}')
	e.kind, e.cited = noBlock, false
	e.index++
	return AppendFrame(dst, "contentBlockStop", e.data)
}

// at begins a payload about a block.
func (e *Encoder) at(index int64) []byte {
	return rawjson.AppendCount(e.data[:0], `{"contentBlockIndex":`, index)
}

func (e *Encoder) openDelta(dst []byte) []byte {
	e.data = append(e.at(e.index), `,"delta":`...)
	return dst
}

func (e *Encoder) closeDelta(dst []byte) []byte {
	e.data = append(e.data, '}')
	return AppendFrame(dst, "contentBlockDelta", e.data)
}

// piece writes a delta with one string.
func (e *Encoder) piece(dst []byte, before, text, after string) []byte {
	dst = e.openDelta(dst)
	e.data = append(rawjson.AppendString(append(e.data, before...), text), after...)
	return e.closeDelta(dst)
}

// thought writes a piece of thinking. Its signature ends the block.
func (e *Encoder) thought(dst []byte, ev *llm.Event) []byte {
	if ev.Text != "" {
		dst = e.piece(e.open(dst, thoughtBlock), `{"reasoningContent":{"text":`, ev.Text, "}}")
	}
	if ev.Redacted != "" {
		dst = e.close(e.piece(e.open(dst, thoughtBlock), `{"reasoningContent":{"redactedContent":`, ev.Redacted, "}}"))
	}
	if ev.Signature != "" {
		dst = e.close(e.piece(e.open(dst, thoughtBlock), `{"reasoningContent":{"signature":`, ev.Signature, "}}"))
	}
	return dst
}

// call opens a tool call, or continues one.
func (e *Encoder) call(dst []byte, ev *llm.Event) []byte {
	if ev.Tool.ID != "" || ev.Tool.Name != "" {
		if len(e.calls) == maxCalls {
			return dst
		}
		dst = e.open(e.close(dst), callBlock)
		e.calls = append(e.calls, e.index)
		e.data = append(e.at(e.index), `,"start":{"toolUse":{"toolUseId":`...)
		e.data = rawjson.AppendString(e.data, ev.Tool.ID)
		e.data = rawjson.AppendString(append(e.data, `,"name":`...), ev.Tool.Name)
		e.data = append(e.data, "}}}"...)
		dst = AppendFrame(dst, "contentBlockStart", e.data)
	}
	if ev.Text == "" || ev.Tool.Index < 0 || ev.Tool.Index >= len(e.calls) {
		return dst
	}
	e.data = append(e.at(e.calls[ev.Tool.Index]), `,"delta":{"toolUse":{"input":`...)
	e.data = append(rawjson.AppendString(e.data, ev.Text), "}}"...)
	return e.closeDelta(dst)
}

// Finish writes the stop reason and then the usage, which ends the stream.
func (e *Encoder) Finish(dst []byte, f *llm.Final) []byte {
	dst = e.close(e.open(dst, e.kind))
	var reason llm.FinishReason
	if len(f.Finish) > 0 {
		reason = f.Finish[0]
	}
	e.data = rawjson.AppendString(append(e.data[:0], `{"stopReason":`...), bedrock.StopWord(reason))
	dst = AppendFrame(dst, "messageStop", append(e.data, '}'))
	e.data = append(e.data[:0], `{"metrics":{"latencyMs":0}`...)
	if f.Reported || !f.Usage.IsZero() {
		e.data = appendUsage(append(e.data, `,"usage":`...), &f.Usage, f.Cost)
	}
	e.data = stamp.Attempts(e.data, f)
	return AppendFrame(dst, "metadata", append(e.data, '}'))
}

// Fail writes an exception. Nothing follows it.
func (e *Encoder) Fail(dst []byte, err *llm.Error) []byte {
	e.data = rawjson.AppendString(append(e.data[:0], `{"message":`...), err.Message)
	return AppendFrame(dst, vocabulary.Of(err.Code).More, append(e.data, '}'))
}
