package gemini

import (
	"net/http"
	"strconv"
	"strings"

	"weir/internal/dialect/compose"
	"weir/internal/dialect/parse"
	"weir/internal/dialect/stamp"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// EmbedSuffix ends the path of embeddings.
const EmbedSuffix = ":batchEmbedContents"

// EmbedPath returns the path after a provider's base URL
// (https://ai.google.dev/api/embeddings#method:-models.batchembedcontents).
func EmbedPath(model string, _ bool) string { return modelPath(model) + EmbedSuffix }

// ScanEmbed implements Scan for embeddings. Each of its requests names a model, which must be that of the path.
func ScanEmbed(body []byte, r *http.Request) (llm.Head, error) {
	h, err := scanMethod(body, r, EmbedSuffix, "with requests")
	if err != nil {
		return h, err
	}
	if err := (names{"requests", "model"}).once(body, ""); err != nil {
		return llm.Head{}, err
	}
	if err := sameModel(&h, body); err != nil {
		return llm.Head{}, err
	}
	requests, n := rawjson.Get(body, "requests"), 0
	for i, one := range rawjson.Elements(requests) {
		if err := scanOne(&h, one); err != nil {
			return llm.Head{}, parse.Under("requests["+strconv.Itoa(i)+"].", err)
		}
		n++
	}
	if h.Texts = int64(n); n == 0 {
		return llm.Head{},
			llm.Invalid("requests",
				`The requests must be a non-empty array of objects such as {"content": {"parts": [{"text": `+
					`"Hello"}]}}.`)
	}
	return h, nil
}

// embedFields are the members of an embedding request that decide the embedded content and the model.
var embedFields = names{"model", "content", "outputDimensionality"}

func scanOne(h *llm.Head, one []byte) error {
	if err := embedFields.once(one, ""); err != nil {
		return err
	}
	content := get(one, "content")
	if err := (names{"parts"}).once(content, "content."); err != nil {
		return err
	}
	if err := textAlone(content); err != nil {
		return err
	}
	return sameModel(h, one)
}

// textAlone refuses parts other than text, because a reply does not report the cost of images, audio or video by kind.
func textAlone(content []byte) error {
	for i, p := range rawjson.Elements(get(content, "parts")) {
		for m := range rawjson.Members(p) {
			if string(spelled(m.Key())) != "text" {
				return notText("content.parts[" + strconv.Itoa(i) + "]")
			}
		}
	}
	return nil
}

func notText(part string) error {
	return llm.Invalid(part, "The "+part+" is not text. Send only text.")
}

// sameModel refuses an object that names another model than the path, because the path decides.
func sameModel(h *llm.Head, obj []byte) error {
	m := rawjson.Get(obj, "model")
	if rawjson.Present(m) && Canonical(rawjson.Text(m)) != Canonical(h.Model) {
		return llm.Invalid("model", "The model is not that of the URL, which decides. Leave it out.")
	}
	return nil
}

// DecodeEmbed implements DecodeRequest for embeddings. The options of the first text apply to all.
func DecodeEmbed(body []byte) (*llm.Request, error) {
	r := &llm.Request{ExtraOf: Name, Embedding: &llm.Embedding{}}
	for i, one := range rawjson.Elements(rawjson.Get(body, "requests")) {
		at := "requests[" + strconv.Itoa(i) + "]"
		if i == parse.MaxTexts {
			return nil, llm.Invalid("requests", "There are more than "+strconv.Itoa(parse.MaxTexts)+
				" requests. Split them into several HTTP requests.")
		}
		text, err := contentText(get(one, "content"), at)
		if err != nil {
			return nil, err
		}
		r.Embedding.Texts = append(r.Embedding.Texts, text)
		if i > 0 {
			continue
		}
		for m := range rawjson.Members(one) {
			if err := embedOption(r, m, at); err != nil {
				return nil, err
			}
		}
	}
	return r, nil
}

func embedOption(r *llm.Request, m rawjson.Member, at string) (err error) {
	switch name := string(spelled(m.Key())); {
	case name == "model", name == "content", !rawjson.Present(m.Value):
	case name == "outputDimensionality":
		r.Embedding.Dimensions, err = parse.Pointer(parse.Int(m.Value, at+"."+name, 1, parse.MaxCount))
	default:
		r.Extra = append(r.Extra, llm.Field{Name: name, Value: m.Value})
	}
	return err
}

func contentText(content []byte, at string) (string, error) {
	var text strings.Builder
	for i, p := range rawjson.Elements(get(content, "parts")) {
		s, ok := rawjson.AsString(get(p, "text"))
		if !ok {
			return "", notText(at + ".content.parts[" + strconv.Itoa(i) + "]")
		}
		text.WriteString(s)
	}
	if text.Len() == 0 {
		return "", llm.Invalid(at+".content", "The "+at+".content has no text. Send parts with text.")
	}
	return text.String(), nil
}

// EncodeEmbed implements EncodeRequest for embeddings.
func EncodeEmbed(r *llm.Request, q *llm.Quirks) (body []byte, dropped []string, err error) {
	w := compose.New(Name, r, q)
	w.Name("requests")
	w.Dst = append(w.Dst, '[')
	for _, text := range r.Embedding.Texts {
		w.Element()
		w.Dst = rawjson.AppendString(append(w.Dst, `{"model":`...), modelsPrefix+Canonical(r.Model))
		w.Dst = rawjson.AppendString(append(w.Dst, `,"content":{"parts":[{"text":`...), text)
		w.Dst = compose.Dimensions(append(w.Dst, "}]}"...), "outputDimensionality", r.Embedding.Dimensions)
		w.InnerExtras(r.Extra, "embedding options of another API")
		w.Dst = append(w.Dst, '}')
	}
	w.Dst = append(w.Dst, ']')
	if r.User != "" {
		w.Drop("user")
	}
	return w.Close()
}

// SpliceEmbed implements Splice for embeddings: it sets the model's name in each of the requests.
func SpliceEmbed(dst, body []byte, _ *llm.Head, s llm.Splice, _ *llm.Quirks) []byte {
	model := rawjson.AppendString(nil, modelsPrefix+Canonical(s.Model))
	requests := []byte{'['}
	for _, one := range rawjson.Elements(rawjson.Get(body, "requests")) {
		requests = rawjson.Splice(rawjson.AppendComma(requests), one, rawjson.Set(one, "model", model))
	}
	return rawjson.Splice(dst, body, rawjson.Set(body, "requests", append(requests, ']')))
}

// DecodeVectors implements DecodeReply for embeddings. Vertex AI reports their usage, the Gemini API does not.
func DecodeVectors(body []byte, _ *llm.Quirks) (*llm.Reply, error) {
	return parse.VectorReply(Name, body, "values", func(r *llm.Reply) []byte {
		r.Usage, _, r.Most, r.Reported = decodeUsage(get(body, "usageMetadata"))
		return rawjson.Get(body, "embeddings")
	})
}

// EncodeVectors implements EncodeReply for embeddings.
func EncodeVectors(dst []byte, r *llm.Reply) []byte {
	dst = compose.Vectors(append(dst, `{"embeddings":`...), r.Vectors, `{"values":`, "}")
	dst = rawjson.AppendCount(dst, `,"usageMetadata":{"promptTokenCount":`, r.Usage.InputTokens())
	dst = rawjson.AppendCount(dst, `,"totalTokenCount":`, r.Usage.InputTokens())
	dst = stamp.Cost(dst, r.Cost)
	return append(dst, "}}"...)
}
