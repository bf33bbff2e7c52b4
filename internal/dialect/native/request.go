package native

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

const maxStops = 4

// DecodeRequest builds the tree of a body that passed Scan. It joins the system messages into one, before all user
// messages. Errors are *llm.Error.
func DecodeRequest(body []byte) (*llm.Request, error) {
	r := &llm.Request{}
	var messages []byte
	for m := range rawjson.Members(body) {
		if string(m.Key()) == "messages" {
			messages = m.Value
			continue
		}
		if err := decodeField(r, m); err != nil {
			return nil, err
		}
	}
	var err error
	r.Messages, err = decodeMessages(messages)
	if err != nil {
		return nil, err
	}
	return r, nil
}

func decodeField(r *llm.Request, m rawjson.Member) (err error) {
	if !rawjson.Present(m.Value) {
		return nil
	}
	switch string(m.Key()) {
	case "model":
		r.Model = rawjson.Text(m.Value)
	case "responsetype":
		if rawjson.Text(m.Value) != "stream" {
			return llm.Invalid("responsetype",
				`The responsetype must be "stream", the only one supported, or be left out.`)
		}
	case "max_tokens":
		n, err := maxTokens(m.Value)
		if err != nil {
			return err
		}
		r.MaxOutput = &n
	case "temperature":
		r.Temperature, err = number(m, func(f float64) bool { return f >= 0 && f <= 2 }, "from 0 to 2")
	case "top_p":
		r.TopP, err = number(m, func(f float64) bool { return f > 0 && f <= 1 }, "above 0 and at most 1")
	case "stop":
		r.Stop, err = stops(m.Value)
	}
	return err
}

func maxTokens(v []byte) (int64, error) {
	n, ok := rawjson.AsInt(v)
	if !ok || n < 1 || n > parse.MaxCount {
		return 0, llm.Invalid("max_tokens", "The max_tokens must be an integer from 1.")
	}
	return n, nil
}

// number reads a number in a range and keeps the client's digits.
func number(m rawjson.Member, within func(float64) bool, want string) (*json.Number, error) {
	n := json.Number(m.Value)
	f, err := strconv.ParseFloat(string(n), 64)
	if rawjson.KindOf(m.Value) != rawjson.Number || err != nil || !within(f) {
		return nil, llm.Invalid(m.Name(), fmt.Sprintf("The %s must be a number %s.", m.Name(), want))
	}
	return &n, nil
}

func stops(v []byte) ([]string, error) {
	bad := llm.Invalid("stop", "The stop must be a non-empty string or an array of 1 to 4 of them.")
	if s, ok := rawjson.AsString(v); ok && s != "" {
		return []string{s}, nil
	}
	var list []string
	for i, e := range rawjson.Elements(v) {
		s, ok := rawjson.AsString(e)
		if !ok || s == "" || i == maxStops {
			return nil, bad
		}
		list = append(list, s)
	}
	if list == nil {
		return nil, bad
	}
	return list, nil
}

// usualMessages is the initial capacity for messages.
const usualMessages = 4

// messageFields are the members of a message that are read.
var messageFields = rawjson.Names{"role", "prompt"}

func decodeMessages(v []byte) ([]llm.Message, error) {
	if rawjson.KindOf(v) != rawjson.Array {
		return nil, llm.Invalid("messages",
			`The messages must be an array of {"role": "user" or "system", "prompt": "…"} objects.`)
	}
	count := 0 // the initial capacity is small; a longer list grows as its elements prove valid
	for range rawjson.Elements(v) {
		if count++; count == usualMessages {
			break
		}
	}
	messages := make([]llm.Message, 0, count+1)
	parts := make([]llm.Part, 0, count)
	var system []string
	for i, e := range rawjson.Elements(v) {
		role, prompt, err := decodeMessage(i, e)
		if err != nil {
			return nil, err
		}
		if role == string(llm.RoleSystem) {
			system = append(system, prompt)
			continue
		}
		parts = append(parts, llm.Part{Kind: llm.PartText, Text: prompt})
		n := len(parts)
		messages = append(messages, llm.Message{Role: llm.RoleUser, Parts: parts[n-1 : n : n]})
	}
	if len(messages) == 0 {
		return nil, llm.Invalid("messages", `The messages contain none with the role "user". Add at least one.`)
	}
	return prepend(system, messages), nil
}

// prepend puts the system messages, joined by a blank line, before the others.
func prepend(system []string, messages []llm.Message) []llm.Message {
	if len(system) == 0 {
		return messages
	}
	text := strings.Join(system, "\n\n")
	first := llm.Message{Role: llm.RoleSystem, Parts: []llm.Part{{Kind: llm.PartText, Text: text}}}
	messages = append(messages, llm.Message{})
	copy(messages[1:], messages)
	messages[0] = first
	return messages
}

func decodeMessage(i int, v []byte) (role, prompt string, err error) {
	if rawjson.KindOf(v) != rawjson.Object {
		return "", "", llm.Invalid(at(i, ""), `A message must be an object with "role" and "prompt".`)
	}
	var seen rawjson.Seen
	for m := range rawjson.Members(v) {
		if _, err := messageFields.Find(m, &seen); err != nil {
			return "", "", parse.Misnamed(at(i, "."), err)
		}
		switch string(m.Key()) {
		case "role":
			role = knownRole(m.Value)
		case "prompt":
			prompt = rawjson.Text(m.Value)
		}
	}
	if role == "" {
		return "", "", llm.Invalid(at(i, ".role"), `The role of a message must be "user" or "system".`)
	}
	if prompt == "" {
		return "", "", llm.Invalid(at(i, ".prompt"), "The prompt of a message must be a non-empty string.")
	}
	return role, prompt, nil
}

// knownRole returns the role in v, or "" for any other value.
func knownRole(v []byte) string {
	switch string(v) {
	case `"user"`:
		return "user"
	case `"system"`:
		return "system"
	}
	if s := rawjson.Text(v); s == "user" || s == "system" {
		return s
	}
	return ""
}

func at(i int, field string) string {
	return "messages[" + strconv.Itoa(i) + "]" + field
}
