package cohere

import (
	"weir/internal/dialect/compose"
	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// inputType is the required purpose of the texts, which other formats do not have: "to be searched", which suits all
// uses except queries.
const inputType = "search_document"

// embedding names the fields of embeddings.
var embedding = parse.Embedding{Format: Name, Texts: "texts", Dimensions: "output_dimension"}

// EncodeEmbed implements EncodeRequest for embeddings.
func EncodeEmbed(r *llm.Request, q *llm.Quirks) (body []byte, dropped []string, err error) {
	w := compose.New(Name, r, q)
	w.Text("model", r.Model)
	w.Raw("texts", rawjson.AppendStrings(nil, r.Embedding.Texts))
	w.Text("input_type", inputType)
	w.Raw("embedding_types", []byte(`["float"]`))
	w.Integer("output_dimension", r.Embedding.Dimensions)
	if r.User != "" {
		w.Drop("user")
	}
	w.Extras(r.Extra)
	return w.Close()
}

// DecodeVectors implements DecodeReply for embeddings.
func DecodeVectors(body []byte, _ *llm.Quirks) (*llm.Reply, error) {
	return parse.VectorReply(Name, body, "", func(r *llm.Reply) []byte {
		r.Usage, r.Most, r.Reported = decodeUsage(rawjson.Get(body, "meta"))
		return rawjson.Get(body, "embeddings", "float")
	})
}

// EncodeVectors implements EncodeReply for embeddings.
func EncodeVectors(dst []byte, r *llm.Reply) []byte {
	dst = rawjson.AppendString(append(dst, `{"id":`...), r.ID)
	dst = compose.Vectors(append(dst, `,"embeddings":{"float":`...), r.Vectors, "", "")
	dst = rawjson.AppendCount(dst, `},"texts":[],"meta":{"api_version":{"version":"2"},"billed_units":{"input_tokens":`,
		r.Usage.InputTokens())
	return append(dst, `}},"response_type":"embeddings_by_type"}`...)
}
