package bedrock

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"weir/internal/dialect/compose"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// EncodeRequest writes the body of a request; its model and the stream flag are in the path. Dropped names the fields
// that Converse cannot carry; EncodeRequest returns an *llm.Error that names a field if dropping it would change the
// meaning.
func EncodeRequest(r *llm.Request, q *llm.Quirks) (body []byte, dropped []string, err error) {
	cites := cites(r)
	if r = compose.InWords(Name, compose.Offered(Name, r)); !cites {
		r = compose.Uncited(r, nil)
	}
	if err := refuse(r, q); err != nil {
		return nil, nil, err
	}
	e := requestEncoder{
		messageEncoder: messageEncoder{Writer: compose.New(Name, r, q), model: r.Model}, extra: r.Extra,
	}
	e.cites = e.Own || cites && slices.ContainsFunc(r.Messages, hasCited)
	if err := e.conversation(e.said(r)); err != nil {
		return nil, nil, err
	}
	if err := e.tools(r); err != nil {
		return nil, nil, err
	}
	t := e.think(r)
	e.inference(r, &t)
	e.additional(r, &t)
	e.output(r, &t)
	e.askStop(r)
	e.leaveOut(r)
	for _, f := range e.extra {
		if e.Own {
			e.raw(f.Name, f.Value)
		} else {
			e.Drop(f.Name)
		}
	}
	return e.Close()
}

// requestEncoder writes the settings and tools of a request next to its conversation.
type requestEncoder struct {
	messageEncoder
	extra []llm.Field // not written yet
}

// key writes a top-level member's name, and reports whether the provider accepts it. Converse has the same names for
// all models.
func (e *requestEncoder) key(name string) bool {
	if !e.Takes(name) {
		return false
	}
	e.Name(name)
	return true
}

func (e *requestEncoder) raw(name string, value []byte) {
	if e.key(name) {
		e.Dst = append(e.Dst, value...)
	}
}

// object writes a configuration object: inner, the modelled members with an open brace, and the unmodelled ones.
func (e *requestEncoder) object(name string, inner []byte) {
	inner = e.withRest(inner, name)
	if len(inner) > 1 && e.key(name) {
		e.Dst = append(append(e.Dst, inner...), '}')
	}
}

// withRest appends the unmodelled members of an object from the extras to an open object, and removes them there.
func (e *requestEncoder) withRest(obj []byte, name string) []byte {
	if !e.Own {
		return obj
	}
	for i, f := range e.extra {
		if f.Name != name {
			continue
		}
		for m := range rawjson.Members(f.Value) {
			obj = rawjson.AppendMember(obj, m.Name(), m.Value)
		}
		e.extra = slices.Delete(slices.Clone(e.extra), i, i+1)
		break
	}
	return obj
}

// refuse returns an error for fields that Converse cannot carry.
func refuse(r *llm.Request, q *llm.Quirks) error {
	if r.Choices != nil && *r.Choices > 1 {
		return llm.Invalid("n", "Amazon Bedrock returns one answer per request. Set n to 1 or send several requests.")
	}
	f := r.Format
	switch {
	case f.IsText():
	case len(f.Schema) == 0:
		return llm.Invalid("response_format", "Amazon Bedrock accepts a json_schema only with its schema. Send one.")
	case q != nil && slices.Contains(q.Drop, "outputConfig"):
		return llm.Invalid("response_format",
			fmt.Sprintf("The model %q accepts no schema for its answer. Offer a tool with that schema, and force its "+
				"call.",
				r.Model))
	}
	return nil
}

// leaveOut notes the preferences that Converse cannot carry.
func (e *requestEncoder) leaveOut(r *llm.Request) {
	for _, p := range []struct {
		name  string
		there bool
	}{
		{"frequency_penalty", r.FrequencyPenalty != nil},
		{"presence_penalty", r.PresencePenalty != nil},
		{"seed", r.Seed != nil},
		{"user", r.User != ""},
		{"parallel_tool_calls", r.ParallelTools != nil && !*r.ParallelTools},
	} {
		if p.there {
			e.Drop(p.name)
		}
	}
}

// inference writes the cap and the sampling parameters. Claude refuses sampling parameters while it thinks.
func (e *requestEncoder) inference(r *llm.Request, t *thinking) {
	obj := []byte{'{'}
	if r.MaxOutput != nil {
		obj = strconv.AppendInt(rawjson.AppendName(obj, "maxTokens"), *r.MaxOutput, 10)
	}
	sampling := func(name, ours string, n *json.Number) {
		switch {
		case n == nil:
		case t.claude:
			e.Drop(name)
		default:
			obj = append(rawjson.AppendName(obj, ours), *n...)
		}
	}
	sampling("temperature", "temperature", r.Temperature)
	sampling("top_p", "topP", r.TopP)
	if len(r.Stop) > 0 {
		obj = rawjson.AppendStrings(rawjson.AppendName(obj, "stopSequences"), r.Stop)
	}
	e.object("inferenceConfig", obj)
}

// additional writes the model's own parameters.
func (e *requestEncoder) additional(r *llm.Request, t *thinking) {
	obj := []byte{'{'}
	switch {
	case r.TopK == nil:
	case e.Own, isClaude(r.Model) && !t.claude:
		obj = strconv.AppendInt(rawjson.AppendName(obj, "top_k"), *r.TopK, 10)
	case isNova(r.Model):
		obj = strconv.AppendInt(append(rawjson.AppendName(obj, "inferenceConfig"), `{"topK":`...), *r.TopK, 10)
		obj = append(obj, '}')
	default:
		e.Drop("top_k")
	}
	for _, f := range t.fields {
		obj = rawjson.AppendMember(obj, f.Name, f.Value)
	}
	e.object("additionalModelRequestFields", obj)
}

func (e *requestEncoder) output(r *llm.Request, t *thinking) {
	obj := []byte{'{'}
	if f := r.Format; f != nil && f.Kind == llm.FormatSchema {
		obj = rawjson.AppendName(obj, "textFormat")
		obj = append(obj, `{"type":"json_schema","structure":{"jsonSchema":{"schema":`...)
		obj = rawjson.AppendString(obj, string(f.Schema))
		if f.Name != "" {
			obj = rawjson.AppendString(rawjson.AppendName(obj, "name"), f.Name)
		}
		if f.Description != "" {
			obj = rawjson.AppendString(rawjson.AppendName(obj, "description"), f.Description)
		}
		obj = append(obj, "}}}"...)
	}
	if t.effort != "" {
		obj = rawjson.AppendString(rawjson.AppendName(obj, "effort"), t.effort)
	}
	e.object("outputConfig", obj)
}

// tools writes the tools and the tool choice.
func (e *requestEncoder) tools(r *llm.Request) error {
	none := !e.Own && r.ToolChoice != nil && r.ToolChoice.Mode == llm.ToolsNone
	obj := []byte{'{'}
	switch {
	case none && !hasCalls(r.Messages): // no tools have the same effect
		return nil
	case len(r.Tools) == 0 && !e.Own:
		obj = appendCalledTools(obj, r.Messages)
	case len(r.Tools) > 0:
		obj = append(rawjson.AppendName(obj, "tools"), '[')
		for i := range r.Tools {
			var err error
			if obj, err = e.tool(obj, &r.Tools[i], i); err != nil {
				return err
			}
		}
		obj = append(obj, ']')
	}
	if r.ToolChoice != nil && !none && (e.Own || len(r.Tools) > 0) {
		obj = appendToolChoice(rawjson.AppendName(obj, "toolChoice"), r.ToolChoice)
	}
	e.object("toolConfig", obj)
	return nil
}

// anyObject is the schema of a tool without one, because Converse requires a schema.
const anyObject = `{"type":"object","properties":{}}`

func (e *requestEncoder) tool(dst []byte, t *llm.Tool, i int) ([]byte, error) {
	if t.Search != nil && !e.Own {
		return e.search(dst, t.Search), nil
	}
	if t.Raw != nil && !e.Own {
		return dst, compose.ForeignTool(t.Raw, i)
	}
	dst = rawjson.AppendComma(dst)
	if t.Raw != nil {
		return e.cachePoint(append(dst, t.Raw...), t.CacheControl), nil
	}
	if len(t.Extra) > 0 {
		e.Drop("tool fields of another API")
	}
	dst = rawjson.AppendString(append(dst, `{"toolSpec":{"name":`...), t.Name)
	if t.Description != "" {
		dst = rawjson.AppendString(append(dst, `,"description":`...), t.Description)
	}
	dst = append(dst, `,"inputSchema":{"json":`...)
	if t.Parameters == nil {
		dst = append(dst, anyObject...)
	}
	dst = append(append(dst, t.Parameters...), '}')
	if t.Strict != nil && (e.Own || *t.Strict) {
		dst = strconv.AppendBool(append(dst, `,"strict":`...), *t.Strict)
	}
	return e.cachePoint(append(dst, "}}"...), t.CacheControl), nil
}

func appendToolChoice(dst []byte, c *llm.ToolChoice) []byte {
	switch c.Mode {
	case llm.ToolsNamed:
		dst = rawjson.AppendString(append(dst, `{"tool":{"name":`...), c.Name)
		return append(dst, "}}"...)
	case llm.ToolsRequired:
		return append(dst, `{"any":{}}`...)
	}
	return append(dst, `{"auto":{}}`...)
}
