package ollama

import (
	"weir/internal/dialect/compose"
	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// embedding names the fields of embeddings.
var embedding = parse.Embedding{Format: Name, Texts: "input", Dimensions: "dimensions"}

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

// EncodeVectors implements EncodeReply for embeddings.
func EncodeVectors(dst []byte, r *llm.Reply) []byte {
	dst = rawjson.AppendString(append(dst, `{"model":`...), r.Model)
	dst = compose.Vectors(append(dst, `,"embeddings":`...), r.Vectors, "", "")
	dst = rawjson.AppendCount(dst, `,"total_duration":0,"load_duration":0,"prompt_eval_count":`, r.Usage.InputTokens())
	return append(dst, '}')
}
