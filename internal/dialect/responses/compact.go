package responses

import (
	"net/http"

	"weir/internal/dialect"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// compactPath is the path of compaction.
const compactPath = "/responses/compact"

// compacting returns the operation that compacts a conversation. The vendor encrypts the result, so it is not
// translated: https://developers.openai.com/api/reference/resources/responses/methods/compact (undated copy that names
// gpt-5.6).
func compacting() *dialect.Operation {
	return &dialect.Operation{
		Op: llm.OpCompact, Routes: []string{"POST /v1" + compactPath}, Scan: ScanCompaction, Kept: notKept,
		DecodeRequest: DecodeRequest, EncodeReply: EncodeCompaction,
		Instead: "Request a summary of the conversation from the model and continue from that, or choose a model " +
			"whose provider speaks Responses.",
		Path: dialect.At(compactPath), Splice: Splice, DecodeReply: DecodeCompaction, Stamp: Stamp,
	}
}

// ScanCompaction implements Scan for a compaction, which has no stream.
func ScanCompaction(body []byte, r *http.Request) (llm.Head, error) {
	h, err := Scan(body, r)
	if err == nil && h.Stream {
		err = llm.Invalid("stream", "A compaction cannot be streamed. Leave stream out.")
	}
	return h, err
}

// notKept stores nothing of a compaction: a later request continues from its items, not from a stored response.
func notKept([]byte) []byte { return nil }

// EncodeCompaction implements EncodeReply for a compaction. Its only item has the answer's text instead of encrypted
// content.
func EncodeCompaction(dst []byte, r *llm.Reply) []byte {
	var text []byte
	for i := range r.Choices {
		for _, p := range r.Choices[i].Message.Parts {
			text = append(text, p.Text...)
		}
	}
	dst = rawjson.AppendString(append(dst, `{"id":`...), r.ID)
	dst = rawjson.AppendCount(dst, `,"object":"response.compaction","created_at":`, r.Created)
	dst = rawjson.AppendString(append(dst, `,"output":[{"type":"compaction","id":"cmp_0","encrypted_content":`...),
		string(text))
	return append(appendUsage(append(dst, "}]"...), &r.Usage, r.Cost), '}')
}

// DecodeCompaction implements DecodeReply for a compaction, which has no status.
func DecodeCompaction(body []byte, q *llm.Quirks) (*llm.Reply, error) {
	r, err := DecodeReply(body, q)
	if err == nil {
		r.Choices[0].Finish = llm.FinishStop
	}
	return r, err
}
