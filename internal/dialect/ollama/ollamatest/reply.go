package ollamatest

import (
	"time"

	"weir/internal/dialect/compose"
	"weir/internal/dialect/ollama"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// finishWord returns the reason as written. A tool call is a normal end.
func finishWord(f llm.FinishReason) string {
	switch f {
	case llm.FinishLength, llm.FinishContentFilter, llm.FinishError:
		return string(f)
	}
	return "stop"
}

// EncodeReply appends a whole answer to dst. It has one choice.
func EncodeReply(dst []byte, r *llm.Reply) []byte {
	r = r.For(ollama.Name)
	c := r.First()
	dst = appendOpening(dst, r.Model, r.Created)
	dst = appendAnswer(append(dst, `,"message":`...), &c.Message)
	dst = rawjson.AppendString(append(dst, `,"done":true,"done_reason":`...), finishWord(c.Finish))
	if r.Reported || !r.Usage.IsZero() {
		dst = appendUsage(dst, &r.Usage, r.Cost)
	}
	if c.Logprobs != nil {
		dst = append(append(dst, `,"logprobs":`...), c.Logprobs...)
	}
	return append(compose.AppendFields(dst, r.Extra, written), '}')
}

// appendOpening writes the beginning of every object of an answer.
func appendOpening(dst []byte, model string, created int64) []byte {
	dst = rawjson.AppendString(append(dst, `{"model":`...), model)
	dst = time.Unix(created, 0).UTC().AppendFormat(append(dst, `,"created_at":"`...), time.RFC3339Nano)
	return append(dst, '"')
}

// appendAnswer writes an assistant's message. Parts that the format cannot express, such as a refusal, become content.
func appendAnswer(dst []byte, m *llm.Message) []byte {
	var content, thinking []byte
	var images, calls []byte
	n := 0
	for i := range m.Parts {
		switch p := &m.Parts[i]; p.Kind {
		case llm.PartReasoning:
			thinking = append(thinking, p.Text...)
		case llm.PartToolCall:
			calls = ollama.AppendCall(append(calls, ','), p.Call, n, true)
			n++
		case llm.PartImage:
			if p.Media != nil && p.Media.Data != "" {
				images = rawjson.AppendString(append(images, ','), p.Media.Data)
			} else {
				content = append(content, p.Words()...)
			}
		default:
			content = append(content, p.Words()...)
		}
	}
	dst = rawjson.AppendString(append(dst, `{"role":"assistant","content":`...), string(content))
	if len(thinking) > 0 {
		dst = rawjson.AppendString(append(dst, `,"thinking":`...), string(thinking))
	}
	dst = appendList(dst, `,"images":`, images)
	dst = appendList(dst, `,"tool_calls":`, calls)
	return append(compose.AppendFields(dst, m.Extra, written), '}')
}

// appendList writes elements, each with a comma before it, as an array; nothing for none.
func appendList(dst []byte, name string, elements []byte) []byte {
	if len(elements) == 0 {
		return dst
	}
	dst = append(append(dst, name...), '[')
	return append(append(dst, elements[1:]...), ']')
}

// written lists the members that an encoded object has already, so that extras do not repeat them.
var written = rawjson.Names{
	"model", "created_at", "message", "done", "done_reason", "logprobs",
	"prompt_eval_count", "prompt_eval_cached_count", "eval_count",
	"role", "content", "thinking", "images", "tool_calls", "tool_name", "tool_call_id", "id", "type", "function",
}
