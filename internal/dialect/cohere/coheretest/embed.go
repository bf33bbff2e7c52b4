package coheretest

import (
	"weir/internal/dialect/compose"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// EncodeVectors implements EncodeReply for embeddings.
func EncodeVectors(dst []byte, r *llm.Reply) []byte {
	dst = rawjson.AppendString(append(dst, `{"id":`...), r.ID)
	dst = compose.Vectors(append(dst, `,"embeddings":{"float":`...), r.Vectors, "", "")
	dst = rawjson.AppendCount(dst, `},"texts":[],"meta":{"api_version":{"version":"2"},"billed_units":{"input_tokens":`,
		r.Usage.InputTokens())
	return append(dst, `}},"response_type":"embeddings_by_type"}`...)
}
