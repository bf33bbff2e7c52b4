package ollama

import (
	"fmt"
	"net/http"

	"weir/internal/dialect/compose"
	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

var embedFields = rawjson.Names{"model", "input", "dimensions"}

// EmbedPath is what follows a provider's base URL
// (https://docs.ollama.com/api/embed).
func EmbedPath(string, bool) string { return "/api/embed" }

// ScanEmbed is Scan for a request for embeddings.
func ScanEmbed(body []byte, _ *http.Request) (llm.Head, error) {
	h, err := parse.Body(body, "We could not parse the JSON body of your request", "with a model and input")
	if err != nil {
		return h, err
	}
	err = parse.Members(body, embedFields, "", func(m rawjson.Member) error {
		if m.Is("model") {
			return parse.Model(&h, m)
		}
		return nil
	})
	if err != nil {
		return llm.Head{}, err
	}
	return h, nil
}

// DecodeEmbed is DecodeRequest for a request for embeddings.
func DecodeEmbed(body []byte) (*llm.Request, error) {
	r := &llm.Request{ExtraOf: Name, Embedding: &llm.Embedding{}}
	var err error
	if r.Embedding.Texts, err = parse.Texts(rawjson.Get(body, "input"), "input"); err != nil {
		return nil, err
	}
	r.Model = rawjson.Text(rawjson.Get(body, "model"))
	if v := rawjson.Get(body, "dimensions"); rawjson.Present(v) {
		r.Embedding.Dimensions, err = parse.Pointer(parse.Int(v, "dimensions", 1, maxCount))
	}
	return r, err
}

// EncodeEmbed is EncodeRequest for a request for embeddings.
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

// DecodeVectors is DecodeReply for embeddings.
func DecodeVectors(body []byte, _ *llm.Quirks) (*llm.Reply, error) {
	if err := rawjson.Validate(body, maxDepth); err != nil {
		return nil, fmt.Errorf("ollama: the reply is not JSON: %w", err)
	}
	r := &llm.Reply{ExtraOf: Name, Model: rawjson.Text(rawjson.Get(body, "model"))}
	var u usage
	for m := range rawjson.Members(body) {
		u.read(m)
	}
	r.Usage, r.Reported = u.classes()
	var err error
	r.Vectors, err = parse.Vectors(rawjson.Get(body, "embeddings"), "")
	if err != nil {
		return r, fmt.Errorf("ollama: %w", err)
	}
	return r, nil
}

// EncodeVectors is EncodeReply for embeddings.
func EncodeVectors(dst []byte, r *llm.Reply) []byte {
	dst = rawjson.AppendString(append(dst, `{"model":`...), r.Model)
	dst = compose.Vectors(append(dst, `,"embeddings":`...), r.Vectors, "", "")
	dst = rawjson.AppendCount(dst, `,"total_duration":0,"load_duration":0,"prompt_eval_count":`, r.Usage.InputTokens())
	return append(dst, '}')
}
