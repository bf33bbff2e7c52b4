package bedrocktest

import (
	"net/http"
	"strings"

	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// fields are the members of a request that the gateway reads or that decide its price.
var fields = rawjson.Names{
	"messages", "system", "inferenceConfig", "toolConfig", "outputConfig", "additionalModelRequestFields",
	"guardrailConfig", "performanceConfig", "serviceTier",
}

var inferenceFields = rawjson.Names{"maxTokens", "temperature", "topP", "stopSequences"}

// modelCaps are the names of the models' own output caps among the additional fields, which Converse passes on unread:
// Claude's, OpenAI's, Llama's, Nova's, Cohere's.
var modelCaps = rawjson.Names{"max_tokens", "max_completion_tokens", "max_gen_len", "maxTokens", "max_new_tokens"}

// Scan validates the body as strict JSON and reads its head; the model and the operation are in the path, the pattern's
// {target...}. The largest of several output caps counts, because models differ in the one they obey. A stream always
// reports its usage. Errors are *llm.Error.
func Scan(body []byte, r *http.Request) (llm.Head, error) {
	model, stream, err := scanTarget(r.PathValue("target"))
	if err != nil {
		return llm.Head{}, err
	}
	h, err := parse.Body(body, parse.Complaint, "with messages")
	if err != nil {
		return h, err
	}
	h.Model, h.Stream, h.IncludeUsage = model, stream, stream
	err = parse.Members(body, fields, "", func(m rawjson.Member) error { return scanMember(&h, m) })
	if err != nil {
		return llm.Head{}, err
	}
	return h, nil
}

// scanTarget reads the path after /model/, unescaped: the model, which may contain slashes, and after the last slash
// the operation.
func scanTarget(target string) (model string, stream bool, err error) {
	at := strings.LastIndexByte(target, '/')
	if at < 1 || target[at:] != whole && target[at:] != streamed {
		return "", false, &llm.Error{
			Code: llm.CodeNotFound,
			Message: "The path does not exist. Send the request to /model/{modelId}/converse or " +
				"/model/{modelId}/converse-stream.",
		}
	}
	return target[:at], target[at:] == streamed, nil
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
	return parse.Members(v, inferenceFields, "inferenceConfig.", func(m rawjson.Member) error {
		if !m.Is("maxTokens") || !rawjson.Present(m.Value) {
			return nil
		}
		n, err := parse.Int(m.Value, "maxTokens", 1, parse.MaxCount)
		h.MaxOutput = max(h.MaxOutput, n)
		return parse.Under("inferenceConfig.", err)
	})
}

// scanModelCaps reads the output caps of models. Invalid values are left to the model.
func scanModelCaps(h *llm.Head, v []byte) {
	for m := range rawjson.Members(v) {
		if n, ok := rawjson.AsInt(m.Value); ok && n > 0 && n <= parse.MaxCount && modelCaps.Has(m.Name()) {
			h.MaxOutput = max(h.MaxOutput, n)
		}
	}
}
