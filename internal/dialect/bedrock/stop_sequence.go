package bedrock

import (
	"cmp"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// stopFields is the member of a whole answer, and of the event messageStop, with the fields that the request asked for
// by paths: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html (undated copy).
const stopFields = "additionalModelResponseFields"

// askStop requests the stop sequence that ended Claude's answer. The path is that of Anthropic's own whole answer or
// event: the vendor's page only documents the first; the second is in a recorded stream of 2026-08-18
// (https://github.com/vercel/ai/pull/11410). Models ignore unknown paths.
func (e *requestEncoder) askStop(r *llm.Request) {
	switch {
	case e.Own || len(r.Stop) == 0 || !isClaude(r.Model):
	case r.Stream:
		e.raw("additionalModelResponseFieldPaths", []byte(`["/delta/stop_sequence"]`))
	default:
		e.raw("additionalModelResponseFieldPaths", []byte(`["/stop_sequence"]`))
	}
}

// stopSequence reads the stop sequence from the fields that askStop requested.
func stopSequence(fields []byte) string {
	const name = "stop_sequence"
	return cmp.Or(rawjson.Text(rawjson.Get(fields, name)),
		rawjson.Text(rawjson.Get(rawjson.Get(fields, "delta"), name)))
}
