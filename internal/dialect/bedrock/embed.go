package bedrock

import (
	"fmt"
	"strings"

	"weir/internal/dialect/compose"
	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// EmbedSuffix ends the path of embeddings.
const EmbedSuffix = "/invoke"

// EmbedPath returns the path after a provider's base URL. Bedrock has no common format for embeddings, so the gateway
// uses the model's own (https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters.html).
func EmbedPath(model string, _ bool) string {
	return string(appendSegment([]byte("/model/"), model)) + EmbedSuffix
}

// isCohere distinguishes Cohere's models from Amazon's.
func isCohere(model string) bool { return strings.Contains(model, "cohere.") }

// EncodeEmbed implements EncodeRequest for embeddings. Amazon's models accept one text at a time.
func EncodeEmbed(r *llm.Request, q *llm.Quirks) (body []byte, dropped []string, err error) {
	w := compose.New(Name, r, q)
	switch {
	case isCohere(r.Model):
		w.Raw("texts", rawjson.AppendStrings(nil, r.Embedding.Texts))
		w.Text("input_type", "search_document")
		w.Integer("output_dimension", r.Embedding.Dimensions)
	case len(r.Embedding.Texts) > 1:
		w.Refuse("input", "This model embeds one text per request. Send each text in a request of its own.")
	default:
		w.Text("inputText", r.Embedding.Texts[0])
		w.Integer("dimensions", r.Embedding.Dimensions)
	}
	if r.User != "" {
		w.Drop("user")
	}
	w.Extras(r.Extra)
	return w.Close()
}

// DecodeVectors implements DecodeReply for embeddings. Cohere's models report their usage only in a header.
func DecodeVectors(body []byte, _ *llm.Quirks) (*llm.Reply, error) {
	if err := rawjson.Validate(body, maxDepth); err != nil {
		return nil, fmt.Errorf("bedrock: the reply is not JSON: %w", err)
	}
	r := &llm.Reply{ExtraOf: Name}
	var c parse.Counter
	r.Reported = c.Count(&r.Usage[llm.Input], rawjson.Get(body, "inputTextTokenCount"))
	var err error
	if one := rawjson.Get(body, "embedding"); one != nil {
		var v llm.Vector
		if v, err = parse.Vector(one); err == nil {
			r.Vectors = []llm.Vector{v}
		}
	} else {
		many := rawjson.Get(body, "embeddings")
		if floats := rawjson.Get(many, "float"); floats != nil {
			many = floats
		}
		r.Vectors, err = parse.Vectors(many, "")
	}
	if err != nil {
		return r, fmt.Errorf("bedrock: %w", err)
	}
	return r, nil
}
