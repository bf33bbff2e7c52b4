package ollamatest

import (
	"weir/internal/dialect/compose"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// EncodeVectors implements EncodeReply for embeddings.
func EncodeVectors(dst []byte, r *llm.Reply) []byte {
	dst = rawjson.AppendString(append(dst, `{"model":`...), r.Model)
	dst = compose.Vectors(append(dst, `,"embeddings":`...), r.Vectors, "", "")
	dst = rawjson.AppendCount(dst, `,"total_duration":0,"load_duration":0,"prompt_eval_count":`, r.Usage.InputTokens())
	return append(dst, '}')
}
