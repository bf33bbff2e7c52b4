package bedrock

import (
	"fmt"
	"net/http"
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

// ScanEmbed implements Scan for embeddings.
func ScanEmbed(body []byte, r *http.Request) (llm.Head, error) {
	h, err := parse.Body(body, parse.Complaint, "with inputText")
	h.Model = strings.TrimSuffix(r.PathValue("target"), EmbedSuffix)
	return h, err
}

// DecodeEmbed implements DecodeRequest for embeddings.
func DecodeEmbed(body []byte) (*llm.Request, error) {
	r := &llm.Request{ExtraOf: Name, Embedding: &llm.Embedding{}}
	name := "inputText"
	if rawjson.Present(rawjson.Get(body, "texts")) {
		name = "texts"
	}
	var err error
	if r.Embedding.Texts, err = parse.Texts(rawjson.Get(body, name), name); err != nil {
		return nil, err
	}
	if v := rawjson.Get(body, "dimensions"); rawjson.Present(v) {
		r.Embedding.Dimensions, err = parse.Pointer(parse.Int(v, "dimensions", 1, parse.MaxCount))
	}
	return r, err
}

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

// EncodeVectors implements EncodeReply for embeddings: in the form of Amazon's models for one text, otherwise of
// Cohere's.
func EncodeVectors(dst []byte, r *llm.Reply) []byte {
	if len(r.Vectors) != 1 {
		dst = rawjson.AppendString(append(dst, `{"id":`...), r.ID)
		dst = compose.Vectors(append(dst, `,"embeddings":`...), r.Vectors, "", "")
		return append(dst, `,"response_type":"embeddings_floats","texts":[]}`...)
	}
	numbers, err := r.Vectors[0].AppendNumbers(nil)
	if err != nil {
		numbers = []byte("[]")
	}
	dst = append(append(dst, `{"embedding":`...), numbers...)
	dst = rawjson.AppendCount(dst, `,"inputTextTokenCount":`, r.Usage.InputTokens())
	return append(dst, '}')
}
