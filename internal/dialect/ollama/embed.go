package ollama

import (
	"fmt"
	"net/http"

	"weir/internal/dialect/compose"
	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// embedding names the fields of embeddings.
var embedding = parse.Embedding{Format: Name, Texts: "input", Dimensions: "dimensions"}

// ScanEmbed implements Scan for embeddings.
func ScanEmbed(body []byte, _ *http.Request) (llm.Head, error) { return embedding.Scan(body) }

// DecodeEmbed implements DecodeRequest for embeddings.
func DecodeEmbed(body []byte) (*llm.Request, error) { return embedding.Decode(body) }

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
	if err := rawjson.Validate(body, maxDepth); err != nil {
		return nil, fmt.Errorf("ollama: the reply is not JSON: %w", err)
	}
	r := &llm.Reply{ExtraOf: Name, Model: rawjson.Text(rawjson.Get(body, "model"))}
	var u usage
	for m := range rawjson.Members(body) {
		u.read(m)
	}
	r.Usage, r.Most, r.Reported = u.classes()
	var err error
	r.Vectors, err = parse.Vectors(rawjson.Get(body, "embeddings"), "")
	if err != nil {
		return r, fmt.Errorf("ollama: %w", err)
	}
	return r, nil
}

// EncodeVectors implements EncodeReply for embeddings.
func EncodeVectors(dst []byte, r *llm.Reply) []byte {
	dst = rawjson.AppendString(append(dst, `{"model":`...), r.Model)
	dst = compose.Vectors(append(dst, `,"embeddings":`...), r.Vectors, "", "")
	dst = rawjson.AppendCount(dst, `,"total_duration":0,"load_duration":0,"prompt_eval_count":`, r.Usage.InputTokens())
	return append(dst, '}')
}
