package dialecttest

import (
	"net/http"

	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// Embedding describes the requests for embeddings of a wire format by the names of its members.
type Embedding struct {
	Format            string // the name of the wire format
	Texts, Dimensions string
}

// Scan validates a body and reads its head.
func (e *Embedding) Scan(body []byte, _ *http.Request) (llm.Head, error) {
	names := rawjson.Names{"model", e.Texts, e.Dimensions}
	return parse.Scan(body, parse.Complaint, "with a model and "+e.Texts, names, func(h *llm.Head, m rawjson.Member) error {
		if m.Is(e.Texts) {
			h.Texts = parse.CountTexts(m.Value)
		}
		return nil
	})
}

// Decode builds the tree of a body that passed Scan.
func (e *Embedding) Decode(body []byte) (*llm.Request, error) {
	r := &llm.Request{ExtraOf: e.Format, Embedding: &llm.Embedding{}}
	var err error
	if r.Embedding.Texts, err = parse.Texts(rawjson.Get(body, e.Texts), e.Texts); err != nil {
		return nil, err
	}
	r.Model = rawjson.Text(rawjson.Get(body, "model"))
	if v := rawjson.Get(body, e.Dimensions); rawjson.Present(v) {
		r.Embedding.Dimensions, err = parse.Pointer(parse.Int(v, e.Dimensions, 1, parse.MaxCount))
	}
	return r, err
}
