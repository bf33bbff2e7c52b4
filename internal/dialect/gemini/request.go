package gemini

import (
	"encoding/json"
	"fmt"
	"strings"

	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// inConfig prefixes the names of Extra fields in the generationConfig.
const inConfig = "generationConfig."

// DecodeRequest builds the tree of a body that passed Scan. The model and the stream flag are not in the body.
// Unmodelled fields go to the Extra fields; raw JSON shares memory with body. Errors are *llm.Error.
func DecodeRequest(body []byte) (*llm.Request, error) {
	r := &llm.Request{ExtraOf: Name}
	var system []llm.Message
	var err error
	for m := range rawjson.PresentMembers(body) {
		switch key := string(spelled(m.Key())); key {
		case "contents":
			r.Messages, err = decodeContents(m.Value)
		case "systemInstruction":
			system, err = decodeSystem(m.Value)
		case "tools":
			r.Tools, err = decodeTools(m.Value)
		case "toolConfig":
			if rawjson.KindOf(m.Value) != rawjson.Object {
				return nil, llm.Invalid(
					key, `The toolConfig must be an object such as {"functionCallingConfig": {"mode": "AUTO"}}.`)
			}
			decodeToolConfig(r, m.Value)
		case "generationConfig":
			err = decodeConfig(r, m.Value)
		default:
			err = addExtra(r, m)
		}
		if err != nil {
			return nil, err
		}
	}
	if len(r.Messages) == 0 {
		return nil, llm.Invalid("contents",
			`The contents must be an array of at least one object such as {"role": "user", "parts": [{"text": `+
				`"Hello"}]}.`)
	}
	r.Messages = append(system, r.Messages...)
	parse.NoteAllowed(r, "toolConfig")
	parse.NoteLogprobs(r, inConfig+"responseLogprobs", inConfig+"logprobs")
	return r, nil
}

// addExtra stores an unmodelled top-level field. Google's names have no dot, which marks a field of the
// generationConfig.
func addExtra(r *llm.Request, m rawjson.Member) error {
	name := m.Name()
	if strings.Contains(name, ".") {
		return llm.Invalid(name, fmt.Sprintf("The field %q does not exist. Leave it out.", name))
	}
	r.Extra = append(r.Extra, llm.Field{Name: name, Value: m.Value})
	essentials.Note(r, string(spelled(m.Key())), m.Value)
	return nil
}

func decodeSystem(v []byte) ([]llm.Message, error) {
	if err := checkContent(v, "systemInstruction"); err != nil {
		return nil, err
	}
	m := llm.Message{Role: llm.RoleSystem}
	err := newContentDecoder().content(&m, v, "systemInstruction")
	return []llm.Message{m}, err
}

// decodeConfig reads the generationConfig.
func decodeConfig(r *llm.Request, v []byte) error {
	var f formatFields
	for m := range rawjson.PresentMembers(v) {
		name := string(spelled(m.Key()))
		known, err := decodeSampling(r, name, m.Value)
		if err != nil {
			return err
		}
		switch {
		case known || f.take(name, m.Value):
		case name == "thinkingConfig":
			decodeThinking(r, m.Value)
		default:
			addConfig(r, name, m.Value)
		}
	}
	f.decode(r)
	return nil
}

// addConfig stores an unmodelled field of the generationConfig.
func addConfig(r *llm.Request, name string, v []byte) {
	r.Extra = append(r.Extra, llm.Field{Name: inConfig + name, Value: v})
	essentials.Note(r, inConfig+name, v)
}

func decodeSampling(r *llm.Request, name string, v []byte) (known bool, err error) {
	switch name {
	case "maxOutputTokens":
		r.MaxOutput, err = parse.Pointer(integer(name, v, 1, parse.MaxCount))
	case "candidateCount":
		r.Choices, err = parse.Pointer(integer(name, v, 1, maxCandidates))
	case "temperature":
		r.Temperature, err = number(name, v)
	case "topP":
		r.TopP, err = number(name, v)
	case "topK":
		n, ok := rawjson.AsInt(v) // Vertex AI accepts fractions, too
		r.TopK, known = &n, ok
		if !ok {
			r.TopK = nil
		}
		return known, nil
	case "seed":
		r.Seed, err = parse.Pointer(integer(name, v, -1<<63, 1<<63-1))
	case "presencePenalty":
		r.PresencePenalty, err = number(name, v)
	case "frequencyPenalty":
		r.FrequencyPenalty, err = number(name, v)
	case "stopSequences":
		r.Stop, err = texts(inConfig+name, v)
	default:
		return false, nil
	}
	return true, err
}

// integer and number read an option of the generationConfig.
func integer(name string, v []byte, least, most int64) (int64, error) {
	n, err := parse.Int(v, name, least, most)
	return n, parse.Under(inConfig, err)
}

func number(name string, v []byte) (*json.Number, error) {
	n, err := parse.Number(v, name)
	return n, parse.Under(inConfig, err)
}

func texts(param string, v []byte) ([]string, error) {
	if s, ok := rawjson.AsString(v); ok {
		return []string{s}, nil
	}
	return parse.Strings(v, param)
}

// formatFields holds the members that together request structured output.
type formatFields struct {
	mime    []byte
	schemas []llm.Field // in camelCase, unchanged
}

func (f *formatFields) take(name string, v []byte) bool {
	switch name {
	case "responseMimeType":
		f.mime = v
	case "responseSchema", "responseJsonSchema", "_responseJsonSchema":
		f.schemas = append(f.schemas, llm.Field{Name: name, Value: v})
	default:
		return false
	}
	return true
}

// decode returns the format that the members request. The original of an OpenAPI schema is next to its translation.
func (f *formatFields) decode(r *llm.Request) {
	switch mime := rawjson.Text(f.mime); {
	case mime == mimeText && len(f.schemas) == 0:
		r.Format = &llm.Format{Kind: llm.FormatText}
	case mime == mimeJSON && len(f.schemas) == 0:
		r.Format = &llm.Format{Kind: llm.FormatJSON}
	case mime == mimeJSON:
		r.Format = &llm.Format{Kind: llm.FormatSchema}
		for _, s := range f.schemas {
			if s.Name != "responseSchema" {
				r.Format.Schema = json.RawMessage(s.Value)
			} else if r.Format.Schema == nil {
				r.Format.Schema = appendJSONSchema(nil, s.Value)
			}
		}
		if len(f.schemas) > 1 || f.schemas[0].Name != "responseJsonSchema" {
			r.Format.Extra = f.schemas
		}
	default: // an enumeration, or an invalid combination
		if f.mime != nil {
			addConfig(r, "responseMimeType", f.mime)
		}
		for _, s := range f.schemas {
			addConfig(r, s.Name, s.Value)
		}
	}
}

const (
	mimeText = "text/plain"
	mimeJSON = "application/json"
)

// decodeThinking reads a thinkingConfig: a level, or a budget, of which 0 switches thinking off. Unmodelled members
// stay in a smaller thinkingConfig.
func decodeThinking(r *llm.Request, v []byte) {
	o := &llm.ReasoningOptions{}
	rest := []byte{'{'}
	for m := range rawjson.Members(v) {
		switch string(spelled(m.Key())) {
		case "thinkingLevel":
			if level := strings.ToLower(rawjson.Text(m.Value)); isLevel(level) {
				o.Effort = level
				continue
			}
		case "thinkingBudget":
			n, ok := rawjson.AsInt(m.Value)
			if ok && n > 0 {
				o.Budget = n
				continue
			}
			if ok && n == 0 && o.Effort == "" {
				o.Effort = effortNone
				continue
			}
		}
		rest = rawjson.AppendMember(rest, string(spelled(m.Key())), m.Value)
	}
	if o.Effort != "" || o.Budget != 0 {
		r.Reasoning = o
	}
	if len(rest) > 1 {
		r.Extra = append(r.Extra, llm.Field{Name: inConfig + "thinkingConfig", Value: append(rest, '}')})
	}
}

const effortNone = "none"

func isLevel(s string) bool {
	switch s {
	case "minimal", "low", "medium", "high":
		return true
	}
	return false
}
