package bedrocktest

import (
	"strconv"

	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// decodeConversation puts the system blocks before the messages, as a message of their own.
func decodeConversation(r *llm.Request, system, messages []byte) (*llm.Request, error) {
	if system != nil {
		parts, err := decodeBlocks(system, true)
		if err != nil {
			return nil, parse.Under("system", err)
		}
		if len(parts) > 0 {
			r.Messages = append(r.Messages, llm.Message{Role: llm.RoleSystem, Parts: parts})
		}
	}
	list, err := decodeMessages(messages)
	if err != nil {
		return nil, err
	}
	r.Messages = append(r.Messages, list...)
	return r, nil
}

func decodeMessages(v []byte) ([]llm.Message, error) {
	messages := make([]llm.Message, 0, 4)
	for i, e := range rawjson.Elements(v) {
		param := "messages[" + strconv.Itoa(i) + "]"
		if rawjson.KindOf(e) != rawjson.Object {
			return nil, llm.Invalid(param, "A message must be an object with a role and content.")
		}
		m, err := decodeMessage(e)
		if err != nil {
			return nil, parse.Under(param, err)
		}
		messages = append(messages, m)
	}
	if len(messages) == 0 {
		return nil, llm.Invalid("messages",
			`The messages must be an array of at least one message such as {"role": "user", "content": [{"text": `+
				`"Hello"}]}.`)
	}
	return messages, nil
}

// decodeMessage reads a message; its errors name the parameter relative to it.
func decodeMessage(v []byte) (out llm.Message, err error) {
	var content []byte
	for m := range rawjson.Members(v) {
		switch string(m.Key()) {
		case "role":
			out.Role = llm.Role(rawjson.Text(m.Value))
		case "content":
			content = m.Value
		default:
			out.Extra = parse.Extra(out.Extra, m)
		}
	}
	switch out.Role {
	case llm.RoleUser, llm.RoleAssistant, llm.RoleSystem:
	default:
		return out, llm.Invalid(".role", `The role must be "user" or "assistant".`)
	}
	if out.Parts, err = decodeBlocks(content, true); err != nil {
		return out, parse.Under(".content", err)
	}
	return out, nil
}
