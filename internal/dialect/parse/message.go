package parse

import (
	"strconv"
	"strings"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// Messages reads an array of messages. decode receives each with its path for errors, such as "messages[0]".
func Messages(v []byte, decode func(v []byte, at string) (llm.Message, error)) ([]llm.Message, error) {
	if rawjson.KindOf(v) != rawjson.Array {
		return nil, llm.Invalid("messages",
			`The messages must be an array of objects such as {"role": "user", "content": "Hello"}.`)
	}
	messages := make([]llm.Message, 0, 4)
	for i, e := range rawjson.Elements(v) {
		at := "messages[" + strconv.Itoa(i) + "]"
		if rawjson.KindOf(e) != rawjson.Object {
			return nil, llm.Invalid(at, "A message must be an object with a role and content.")
		}
		m, err := decode(e, at)
		if err != nil {
			return nil, err
		}
		messages = append(messages, m)
	}
	return messages, nil
}

// Content describes a content that is a string or an array of parts.
type Content struct {
	Piece string                        // the vendor's term for a part, such as "block"
	Text  string                        // the type of a text part
	Part  func([]byte) (llm.Part, bool) // decodes a part; false if it is invalid
}

// Append appends the parts of v. An empty string adds none.
func (c Content) Append(parts []llm.Part, v []byte, name string) ([]llm.Part, error) {
	if s, ok := rawjson.AsString(v); ok {
		if s != "" {
			parts = append(parts, llm.Part{Kind: llm.PartText, Text: s})
		}
		return parts, nil
	}
	if rawjson.KindOf(v) != rawjson.Array {
		return nil, llm.Invalid(name, "The content must be a string or an array of content "+c.Piece+"s.")
	}
	for i, e := range rawjson.Elements(v) {
		p, ok := c.Part(e)
		if !ok {
			return nil, llm.Invalid(name+"["+strconv.Itoa(i)+"]", `A content `+c.Piece+
				` must be an object such as {"type": "`+c.Text+`", "text": "Hello"}.`)
		}
		parts = append(parts, p)
	}
	return parts, nil
}

// Image reads OpenAI's image_url: an object with an address or, as some clients and vendors write it, only the
// address.
func Image(v []byte) *llm.Media {
	address, ok := rawjson.AsString(v)
	if !ok {
		address = rawjson.Text(rawjson.Get(v, "url"))
	}
	m := &llm.Media{Detail: rawjson.Text(rawjson.Get(v, "detail"))}
	if m.MIME, m.Data, ok = CutDataURL(address); !ok {
		m.URL = address
	}
	return m
}

// CutDataURL splits a base64 data URL (RFC 2397). It reports false for any other string.
func CutDataURL(s string) (mime, data string, ok bool) {
	rest, ok := strings.CutPrefix(s, "data:")
	if !ok {
		return "", "", false
	}
	head, data, ok := strings.Cut(rest, ",")
	mime, isBase64 := strings.CutSuffix(head, ";base64")
	if !ok || !isBase64 || mime == "" {
		return "", "", false
	}
	return MediaType(mime), data, true
}

// Arguments returns the arguments of a tool call as JSON text. It accepts an object and a string with JSON, because
// servers mix the two forms, and nothing.
func Arguments(v []byte) string {
	if s, ok := rawjson.AsString(v); ok || !rawjson.Present(v) {
		return s
	}
	return string(v)
}

// CallID returns an id for a tool call without one, by its position.
func CallID(position int) string { return "call_" + strconv.Itoa(position) }

// IsAborted reports whether a finish reason means that generation failed. The reasons are those of DeepSeek
// (insufficient_system_resource), Z.ai (network_error), Mistral and OpenRouter (error), watsonx (time_limit,
// cancelled, error: https://ibm.github.io/watsonx-ai-node-sdk/interfaces/1_6_x.WatsonXAI.TextChatResultChoice-1.html,
// 2026-11-28), TensorRT-LLM (timeout, cancelled), vLLM and SGLang (abort), Cohere (ERROR, TIMEOUT, USER_CANCEL),
// Bedrock (malformed_…), and Google, whose OpenAI-compatible API puts "function_call_filter: " before its own reason.
func IsAborted(word string) bool {
	switch strings.ToLower(strings.TrimPrefix(word, "function_call_filter: ")) {
	case "error", "insufficient_system_resource", "network_error", "abort", "aborted", "timeout", "time_limit",
		"cancelled", "canceled", "user_cancel", "malformed_function_call", "malformed_response",
		"malformed_model_output", "malformed_tool_use", "unexpected_tool_call", "too_many_tool_calls",
		"missing_thought_signature":
		return true
	}
	return false
}

// Finish corrects a finish reason by the parts of the answer: tool calls if it has any, even if the provider reported
// a normal end, and a normal end if it has none.
func Finish(said llm.FinishReason, parts []llm.Part) llm.FinishReason {
	if said != llm.FinishStop && said != llm.FinishToolCalls {
		return said
	}
	for i := range parts {
		switch parts[i].Kind {
		case llm.PartToolCall:
			return llm.FinishToolCalls
		case llm.PartOther:
			return said // it may be a tool call
		}
	}
	return llm.FinishStop
}
