package openai

import (
	"net/http"

	"weir/internal/dialect/compose"
	"weir/internal/dialect/parse"
	"weir/internal/dialect/stamp"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// embedFields are the members of an embeddings request that the gateway reads.
var embedFields = rawjson.Names{"model", "input", "encoding_format", "dimensions"}

// maxDimensions bounds the requested dimensions; no model has as many.
const maxDimensions = 1 << 20

// ScanEmbed implements Scan for embeddings.
func ScanEmbed(body []byte, _ *http.Request) (llm.Head, error) {
	h, err := parse.Scan(body, parse.Complaint, "with a model and input", embedFields,
		func(h *llm.Head, m rawjson.Member) (err error) {
			if m.Is("encoding_format") {
				h.Base64, err = inBase64(m.Value)
			}
			ScanAttribution(h, m)
			return err
		})
	if err != nil {
		return h, err
	}
	input := rawjson.Get(body, "input")
	if !isInput(input) {
		return llm.Head{},
			llm.Invalid("input",
				"The input must be a non-empty string, a non-empty array of strings, or tokens.")
	}
	h.Texts = parse.CountTexts(input)
	return h, nil
}

// isInput reports whether the input has anything to embed. The provider validates tokens.
func isInput(v []byte) bool {
	if s, ok := rawjson.AsString(v); ok {
		return s != ""
	}
	return rawjson.HasElement(v)
}

func inBase64(v []byte) (bool, error) {
	switch rawjson.Text(v) {
	case "float":
		return false, nil
	case "base64":
		return true, nil
	}
	return false, llm.Invalid("encoding_format", `The encoding_format must be "float" or "base64".`)
}

// DecodeEmbed implements DecodeRequest for embeddings. It refuses texts given as tokens, which have no meaning for
// other providers.
func DecodeEmbed(body []byte) (*llm.Request, error) {
	r := &llm.Request{ExtraOf: Name, Embedding: &llm.Embedding{}}
	for m := range rawjson.PresentMembers(body) {
		var err error
		switch string(m.Key()) {
		case "model":
			r.Model, err = parse.String(m.Value, "model")
		case "input":
			r.Embedding.Texts, err = texts(m.Value)
		case "encoding_format":
			r.Embedding.Base64, err = inBase64(m.Value)
		case "dimensions":
			r.Embedding.Dimensions, err = parse.Pointer(parse.Int(m.Value, "dimensions", 1, maxDimensions))
		case "user":
			r.User, err = parse.String(m.Value, "user")
		default:
			r.Extra = append(r.Extra, llm.Field{Name: m.Name(), Value: m.Value})
		}
		if err != nil {
			return nil, err
		}
	}
	return r, nil
}

func texts(v []byte) ([]string, error) {
	for _, e := range rawjson.Elements(v) {
		if k := rawjson.KindOf(e); k == rawjson.Number || k == rawjson.Array {
			return nil, llm.Invalid("input",
				"The input consists of tokens, which only providers of OpenAI's own models understand. Send the texts "+
					"instead to use this model.")
		}
		break
	}
	return parse.Texts(v, "input")
}

// EncodeEmbed implements EncodeRequest for embeddings.
func EncodeEmbed(r *llm.Request, q *llm.Quirks) (body []byte, dropped []string, err error) {
	w := compose.New(Name, r, q)
	w.Text("model", r.Model)
	w.Raw("input", rawjson.AppendStrings(nil, r.Embedding.Texts))
	w.Integer("dimensions", r.Embedding.Dimensions)
	if r.Embedding.Base64 {
		w.Text("encoding_format", "base64")
	}
	if r.User != "" {
		w.Text("user", r.User)
	}
	w.Extras(r.Extra)
	return w.Close()
}

// SpliceEmbed implements Splice for embeddings, which have no output cap and no stream.
func SpliceEmbed(dst, body []byte, h *llm.Head, s llm.Splice, q *llm.Quirks) []byte {
	if q != nil && quirky(body, q) {
		body = requirk(body, q)
		h = relocate(body)
	}
	return compose.SpliceModel(dst, body, h, s, q)
}

// DecodeVectors implements DecodeReply for embeddings. Usage of an answer that is charged by its input only reports
// only that.
func DecodeVectors(body []byte, q *llm.Quirks) (*llm.Reply, error) {
	return parse.VectorReply(Name, body, "embedding", func(r *llm.Reply) []byte {
		r.Model = rawjson.Text(rawjson.Get(body, "model"))
		meter(r, rawjson.Get(body, "usage"), q)
		return rawjson.Get(body, "data")
	})
}

// EncodeVectors implements EncodeReply for embeddings.
func EncodeVectors(dst []byte, r *llm.Reply) []byte {
	dst = append(dst, `{"object":"list","data":[`...)
	for i := range r.Vectors {
		dst = rawjson.AppendCount(rawjson.AppendComma(dst), `{"object":"embedding","index":`, int64(i))
		dst = append(appendVector(append(dst, `,"embedding":`...), &r.Vectors[i], r.Base64), '}')
	}
	dst = rawjson.AppendString(append(dst, `],"model":`...), r.Model)
	dst = rawjson.AppendCount(dst, `,"usage":{"prompt_tokens":`, r.Usage.InputTokens())
	dst = rawjson.AppendCount(dst, `,"total_tokens":`, r.Usage.InputTokens())
	dst = stamp.Cost(dst, r.Cost)
	return append(dst, "}}"...)
}

// appendVector writes a vector in the requested form, or unchanged if it cannot be converted.
func appendVector(dst []byte, v *llm.Vector, inBase64 bool) []byte {
	if inBase64 {
		if out, err := v.AppendBase64(append(dst, '"')); err == nil {
			return append(out, '"')
		}
	}
	if out, err := v.AppendNumbers(dst); err == nil {
		return out
	}
	return rawjson.AppendString(dst, v.Base64)
}
