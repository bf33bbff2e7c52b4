package ollama

import (
	"weir/internal/dialect/compose"
	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// EncodeEmbed implements EncodeRequest for embeddings.
func EncodeEmbed(r *llm.Request, q *llm.Quirks) (body []byte, dropped []string, err error) {
	w := compose.New(Name, r, q)
	w.Text("model", r.Model)
	w.Raw("input", rawjson.AppendStrings(nil, r.Embedding.Texts))
	w.Integer("dimensions", r.Embedding.Dimensions)
	if r.User != "" {
		w.Drop("user")
	}
	w.Extras(r.Extra)
	return w.Close()
}

// DecodeVectors implements DecodeReply for embeddings.
func DecodeVectors(body []byte, _ *llm.Quirks) (*llm.Reply, error) {
	return parse.VectorReply(Name, body, "", func(r *llm.Reply) []byte {
		a := readAnswer(body, nil)
		r.Model = rawjson.Text(a.model)
		r.Usage, r.Most, r.Reported = a.usage.classes()
		return rawjson.Get(body, "embeddings")
	})
}
