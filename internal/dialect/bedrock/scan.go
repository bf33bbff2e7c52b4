package bedrock

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// fields are the members of a request that are acted on, or decide its price.
var fields = rawjson.Names{
	"messages", "system", "inferenceConfig", "toolConfig", "outputConfig", "additionalModelRequestFields",
	"guardrailConfig", "performanceConfig", "serviceTier",
}

var inferenceFields = rawjson.Names{"maxTokens", "temperature", "topP", "stopSequences"}

// modelCaps are how models call their own output cap, among the additional
// fields, which pass to them unread: Claude, OpenAI's, Llama, Nova, Cohere.
var modelCaps = rawjson.Names{"max_tokens", "max_completion_tokens", "max_gen_len", "maxTokens", "max_new_tokens"}

// Scan validates the body as strict JSON and reads its head, of which the
// model and the operation stand in the path: the pattern's {target...}. Of
// several output caps the largest counts: models differ in which they obey. A
// stream always tells its usage. Errors are *llm.Error.
func Scan(body []byte, r *http.Request) (llm.Head, error) {
	h := llm.Head{Choices: 1}
	if err := scanTarget(&h, r.PathValue("target")); err != nil {
		return llm.Head{}, err
	}
	if err := rawjson.Validate(body, maxDepth); err != nil {
		return llm.Head{}, &llm.Error{
			Code: llm.CodeInvalidRequest,
			Message: "We could not parse the JSON body of your request: " + err.Error() +
				". Send one JSON object with messages.",
		}
	}
	if rawjson.KindOf(body) != rawjson.Object {
		return llm.Head{}, llm.Invalid("", "The body must be a JSON object with messages.")
	}
	h.Open, h.Empty = bytes.IndexByte(body, '{')+1, true
	var seen rawjson.Seen
	for m := range rawjson.Members(body) {
		h.Empty = false
		if _, err := fields.Find(m, &seen); err != nil {
			return llm.Head{}, misnamed("", err)
		}
		if err := scanMember(&h, m); err != nil {
			return llm.Head{}, err
		}
	}
	return h, nil
}

// scanTarget reads the path behind /model/, unescaped: the model, which may
// have slashes of its own, and behind the last slash the operation.
func scanTarget(h *llm.Head, target string) error {
	at := strings.LastIndexByte(target, '/')
	if at < 1 || target[at+1:] != whole && target[at+1:] != streamed {
		return &llm.Error{Code: llm.CodeNotFound, Message: "There is nothing at this path. Ask at /model/{modelId}/converse or /model/{modelId}/converse-stream."}
	}
	h.Model, h.Stream = target[:at], target[at+1:] == streamed
	h.IncludeUsage = h.Stream
	return nil
}

func scanMember(h *llm.Head, m rawjson.Member) error {
	switch string(m.Key()) {
	case "inferenceConfig":
		return scanInference(h, m.Value)
	case "additionalModelRequestFields":
		scanModelCaps(h, m.Value)
		scanModelCaps(h, rawjson.Get(m.Value, "inferenceConfig"))
	}
	return nil
}

func scanInference(h *llm.Head, v []byte) error {
	if !rawjson.Present(v) {
		return nil
	}
	if rawjson.KindOf(v) != rawjson.Object {
		return llm.Invalid("inferenceConfig", `The inferenceConfig must be an object such as {"maxTokens": 512}.`)
	}
	var seen rawjson.Seen
	for m := range rawjson.Members(v) {
		if _, err := inferenceFields.Find(m, &seen); err != nil {
			return misnamed("inferenceConfig.", err)
		}
		if !m.Is("maxTokens") || !rawjson.Present(m.Value) {
			continue
		}
		n, ok := rawjson.AsInt(m.Value)
		if !ok || n < 1 || n > maxCount {
			return llm.Invalid("inferenceConfig.maxTokens", fmt.Sprintf("The maxTokens must be an integer from 1 to %d.", int64(maxCount)))
		}
		h.MaxOutput = max(h.MaxOutput, n)
	}
	return nil
}

// scanModelCaps reads what a model may take for its output cap. What is none
// is the model's to judge.
func scanModelCaps(h *llm.Head, v []byte) {
	for m := range rawjson.Members(v) {
		if n, ok := rawjson.AsInt(m.Value); ok && n > 0 && n <= maxCount && modelCaps.Has(m.Name()) {
			h.MaxOutput = max(h.MaxOutput, n)
		}
	}
}

// misnamed is the error about a field that stands twice or in another case.
func misnamed(path string, err error) error {
	e, ok := errors.AsType[*rawjson.NameError](err)
	if !ok {
		return err
	}
	return llm.Invalid(path+e.Name, "A field name is at fault: "+e.Error()+".")
}
