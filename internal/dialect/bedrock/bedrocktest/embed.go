package bedrocktest

import (
	"net/http"
	"strings"

	"weir/internal/dialect/bedrock"
	"weir/internal/dialect/compose"
	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// ScanEmbed implements Scan for embeddings.
func ScanEmbed(body []byte, r *http.Request) (llm.Head, error) {
	h, err := parse.Body(body, parse.Complaint, "with inputText")
	h.Model = strings.TrimSuffix(r.PathValue("target"), bedrock.EmbedSuffix)
	return h, err
}

// DecodeEmbed implements DecodeRequest for embeddings.
func DecodeEmbed(body []byte) (*llm.Request, error) {
	r := &llm.Request{ExtraOf: bedrock.Name, Embedding: &llm.Embedding{}}
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
