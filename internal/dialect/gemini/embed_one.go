package gemini

import (
	"net/http"
	"strings"

	"weir/internal/dialect/compose"
	"weir/internal/dialect/stamp"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// EmbedOneSuffix ends the path of a single embedding
// (https://ai.google.dev/api/embeddings#method:-models.embedcontent). The gateway requests it from providers by
// EmbedSuffix.
const EmbedOneSuffix = ":embedContent"

// ScanEmbedOne implements Scan for a single embedding.
func ScanEmbedOne(body []byte, r *http.Request) (llm.Head, error) {
	h, err := scanMethod(body, r, EmbedOneSuffix, "with content")
	if err != nil {
		return h, err
	}
	h.Texts = 1
	err = scanOne(&h, body)
	return h, err
}

// firstRequest is the place of the single request in a batch.
const firstRequest = "requests[0]."

// DecodeEmbedOne implements DecodeRequest for a single embedding.
func DecodeEmbedOne(body []byte) (*llm.Request, error) {
	r, err := DecodeEmbed(append(append([]byte(`{"requests":[`), body...), "]}"...))
	if err == nil {
		return r, nil
	}
	e := *llm.AsError(err)
	e.Param = strings.TrimPrefix(e.Param, firstRequest)
	e.Message = strings.ReplaceAll(e.Message, firstRequest, "")
	return nil, &e
}

// EncodeVector implements EncodeReply for a single embedding.
func EncodeVector(dst []byte, r *llm.Reply) []byte {
	if len(r.Vectors) == 0 {
		return append(dst, `{"embedding":{}}`...)
	}
	one := compose.Vectors(nil, r.Vectors[:1], `{"values":`, "}")
	dst = append(append(dst, `{"embedding":`...), one[1:len(one)-1]...)
	dst = rawjson.AppendCount(dst, `,"usageMetadata":{"promptTokenCount":`, r.Usage.InputTokens())
	dst = rawjson.AppendCount(dst, `,"totalTokenCount":`, r.Usage.InputTokens())
	dst = stamp.Cost(dst, r.Cost)
	return append(dst, "}}"...)
}
