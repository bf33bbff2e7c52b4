package parse

import (
	"strconv"
	"strings"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// Messages reads an array of messages. To decode one it is given with the name
// that errors about it are to bear, such as "messages[0]".
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

// Content is a content that is a string or an array of parts.
type Content struct {
	Piece string                        // what the vendor calls a part of it, such as "block"
	Text  string                        // the type of a part that is text
	Part  func([]byte) (llm.Part, bool) // decodes one; false for what is none
}

// Append appends the parts of v. An empty string is no part.
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

// Image reads OpenAI's image_url, an object with an address, or the address
// alone, which some clients and vendors know, too.
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

// CutDataURL takes a base64 data URL (RFC 2397) apart. It reports false for
// what is none.
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

// Arguments are the arguments of a call as JSON text. Where one format has an
// object, servers put that into a string, and where another has a string, they
// leave it out.
func Arguments(v []byte) string {
	if s, ok := rawjson.AsString(v); ok || !rawjson.Present(v) {
		return s
	}
	return string(v)
}

// CallID is the id of a call that came without one, by its position.
func CallID(position int) string { return "call_" + strconv.Itoa(position) }

// IsAborted reports whether a finish reason tells of a failure: the generation was broken off. The words are those of
// DeepSeek (insufficient_system_resource), Z.ai (network_error), Mistral and OpenRouter (error), watsonx (time_limit,
// cancelled, error: https://ibm.github.io/watsonx-ai-node-sdk/interfaces/1_6_x.WatsonXAI.TextChatResultChoice-1.html,
// 2026-11-28), TensorRT-LLM (timeout, cancelled), vLLM and SGLang (abort), Cohere (ERROR, TIMEOUT, USER_CANCEL), Bedrock
// (malformed_…), and Google, whose OpenAI-compatible API has its own word behind "function_call_filter: ".
func IsAborted(word string) bool {
	switch strings.ToLower(strings.TrimPrefix(word, "function_call_filter: ")) {
	case "error", "insufficient_system_resource", "network_error", "abort", "aborted", "timeout", "time_limit",
		"cancelled", "canceled", "user_cancel", "malformed_function_call", "malformed_response", "malformed_model_output",
		"malformed_tool_use", "unexpected_tool_call", "too_many_tool_calls", "missing_thought_signature":
		return true
	}
	return false
}

// Finish is why an answer ended: a call of a tool where the answer has one,
// though its provider speaks of a normal end, and a normal end where it has none, though its provider speaks of a call.
func Finish(said llm.FinishReason, parts []llm.Part) llm.FinishReason {
	if said != llm.FinishStop && said != llm.FinishToolCalls {
		return said
	}
	for i := range parts {
		switch parts[i].Kind {
		case llm.PartToolCall:
			return llm.FinishToolCalls
		case llm.PartOther:
			return said // which may be one
		}
	}
	return llm.FinishStop
}
