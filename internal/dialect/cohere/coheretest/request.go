package coheretest

import (
	"weir/internal/dialect/cohere"
	"weir/internal/dialect/dialecttest"
	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// DecodeRequest builds the tree of a body that passed Scan. Unmodelled fields, such as documents and citation_options,
// go to the Extra fields; raw JSON shares memory with body. Errors are *llm.Error.
func DecodeRequest(body []byte) (*llm.Request, error) {
	r := &llm.Request{ExtraOf: cohere.Name}
	var strict []byte
	for m := range rawjson.PresentMembers(body) {
		if m.Is("strict_tools") && rawjson.KindOf(m.Value) == rawjson.Bool {
			strict = m.Value
			continue
		}
		known, err := decodeField(r, m)
		if err != nil {
			return nil, err
		}
		if !known {
			r.Extra = append(r.Extra, llm.Field{Name: m.Name(), Value: m.Value})
			essentials.Note(r, m.Name(), m.Value)
		}
	}
	if len(r.Messages) == 0 {
		return nil, llm.Invalid("messages",
			`The messages must be an array of at least one message such as {"role": "user", "content": "Hello"}.`)
	}
	if strict != nil {
		decodeStrict(r, strict)
	}
	r.IncludeUsage = r.Stream
	return r, nil
}

// decodeStrict copies strict_tools, one option for all tools, to each tool.
func decodeStrict(r *llm.Request, v []byte) {
	if len(r.Tools) == 0 {
		r.Extra = append(r.Extra, llm.Field{Name: "strict_tools", Value: v})
		return
	}
	strict, _ := rawjson.AsBool(v)
	for i := range r.Tools {
		r.Tools[i].Strict = &strict
	}
}

// decodeField reads one member and reports whether the tree models it.
func decodeField(r *llm.Request, m rawjson.Member) (known bool, err error) {
	switch string(m.Key()) {
	case "model":
		r.Model, err = parse.String(m.Value, "model")
	case "messages":
		r.Messages, err = decodeMessages(m.Value)
	case "stream":
		r.Stream, err = parse.Bool(m.Value, "stream")
	case outputCap:
		r.MaxOutput, err = parse.Pointer(parse.Int(m.Value, outputCap, 1, parse.MaxCount))
	case "tools":
		r.Tools, err = parse.AppendTools(nil, m.Value, "tools", decodeTool)
	case "tool_choice":
		r.ToolChoice = decodeToolChoice(m.Value)
		return r.ToolChoice != nil, nil
	case "response_format":
		r.Format, err = decodeFormat(m.Value)
		return r.Format != nil, err
	case "thinking":
		r.Reasoning = decodeThinking(m.Value)
		return r.Reasoning != nil, nil
	default:
		return decodeSampling(r, m)
	}
	return true, err
}

func decodeSampling(r *llm.Request, m rawjson.Member) (known bool, err error) {
	switch string(m.Key()) {
	case "temperature":
		r.Temperature, err = parse.Number(m.Value, "temperature")
	case "p":
		r.TopP, err = parse.Number(m.Value, "p")
	case "k":
		r.TopK, err = parse.Pointer(parse.Int(m.Value, "k", 0, parse.MaxCount))
	case "frequency_penalty":
		r.FrequencyPenalty, err = parse.Number(m.Value, "frequency_penalty")
	case "presence_penalty":
		r.PresencePenalty, err = parse.Number(m.Value, "presence_penalty")
	case "seed":
		n, ok := rawjson.AsInt(m.Value)
		if !ok { // it may be up to 2^64-1
			return false, nil
		}
		r.Seed = &n
	case "stop_sequences":
		r.Stop, err = parse.Strings(m.Value, "stop_sequences")
	default:
		return false, nil
	}
	return true, err
}

// decodeFormat reads a response format. It returns nil without an error for an unknown type. A schema is next to the
// type; "schema" is its name in version 1.
func decodeFormat(v []byte) (*llm.Format, error) {
	switch kind := llm.FormatKind(rawjson.Text(rawjson.Get(v, "type"))); kind {
	case llm.FormatText:
		return &llm.Format{Kind: kind}, nil
	case llm.FormatJSON:
		for _, name := range []string{"json_schema", "schema"} {
			if schema := rawjson.Get(v, name); rawjson.Present(schema) {
				return &llm.Format{Kind: llm.FormatSchema, Schema: schema}, nil
			}
		}
		return &llm.Format{Kind: kind}, nil
	case "":
		return nil, llm.Invalid("response_format",
			`The response_format must be an object such as {"type": "json_object"}.`)
	}
	return nil, nil
}

// decodeThinking reads the thinking options. It returns nil for unknown ones. Enabled thinking without a budget has no
// limit (https://docs.cohere.com/docs/reasoning), so other formats get a high effort.
func decodeThinking(v []byte) *llm.ReasoningOptions {
	kind := rawjson.Text(rawjson.Get(v, "type"))
	budget := rawjson.Get(v, "token_budget")
	n, ok := rawjson.AsInt(budget)
	switch {
	case kind == "disabled" && !rawjson.Present(budget):
		return &llm.ReasoningOptions{Effort: "none"}
	case kind == "enabled" && !rawjson.Present(budget):
		return &llm.ReasoningOptions{Effort: "high"}
	case (kind == "enabled" || kind == "") && ok && n > 0 && n <= parse.MaxCount:
		return &llm.ReasoningOptions{Budget: n}
	}
	return nil
}

func decodeTool(v []byte, at string) (llm.Tool, error) {
	if rawjson.Text(rawjson.Get(v, "type")) != "function" {
		return llm.Tool{Raw: v}, nil
	}
	return parse.Named(dialecttest.Function(rawjson.Get(v, "function")), at+".function")
}

// decodeToolChoice reads a tool choice. It returns nil for an unknown one.
func decodeToolChoice(v []byte) *llm.ToolChoice {
	switch rawjson.Text(v) {
	case "REQUIRED":
		return &llm.ToolChoice{Mode: llm.ToolsRequired}
	case "NONE":
		return &llm.ToolChoice{Mode: llm.ToolsNone}
	}
	return nil
}
