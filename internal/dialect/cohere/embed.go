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
