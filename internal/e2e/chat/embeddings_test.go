package chat_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"

	"weir/internal/e2e/harness"
	"weir/internal/simulator"
)

// embedding is a reply of the client API's.
type embedding struct {
	Object string
	Data   []struct {
		Object    string
		Index     int
		Embedding json.RawMessage
	}
	Model string
	Usage struct {
		Prompt int64       `json:"prompt_tokens"`
		Total  int64       `json:"total_tokens"`
		Cost   json.Number `json:"cost"`
	}
}

// TestEmbeddingsOfEachWireFormat requests vectors from providers of each wire format, as numbers and in base64, which
// must be equal.
func TestEmbeddingsOfEachWireFormat(t *testing.T) {
	t.Parallel()
	for name, prefix := range harness.Embedders {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			up := harness.NewUpstream(t)
			h := harness.Open(t, harness.Setup{YAML: harness.DialectYAML(name, up.URL+prefix)})
			var e embedding
			r := h.Do(harness.VendorEmbed(`{"model":"house/chat","input":"Hello","dimensions":3}`))
			harness.Decode(t, r.Body, &e)
			var numbers []float32
			if err := json.Unmarshal(e.Data[0].Embedding, &numbers); err != nil || len(numbers) != 3 || e.Object != "list" {
				t.Errorf("numbers: %s", r.Body)
			}
			all := up.Records(t)
			if last := all[len(all)-1]; last.Outcome != simulator.Served || last.Usage.InputTokens() != e.Usage.Prompt || e.Usage.Total != e.Usage.Prompt {
				t.Errorf("reported %+v, served %+v", e.Usage, last)
			}
			if got := r.Header.Get("X-Weir-Cost-USD"); got == "" || got != e.Usage.Cost.String() {
				t.Errorf("cost %q in the header, %q in the body", got, e.Usage.Cost)
			}
			r = h.Do(harness.VendorEmbed(`{"model":"house/chat","input":"Hello","dimensions":3,"encoding_format":"base64"}`))
			var coded struct{ Data []struct{ Embedding []byte } }
			if err := json.Unmarshal([]byte(r.Body), &coded); err != nil || len(coded.Data) != 1 || !bytes.Equal(coded.Data[0].Embedding, littleEndian(numbers)) {
				t.Fatalf("base64: %v, got %s, want %v", err, r.Body, numbers)
			}
		})
	}
}

// littleEndian returns the bytes of numbers, in the order of base64.
func littleEndian(numbers []float32) (b []byte) {
	for _, n := range numbers {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(n))
	}
	return b
}

// TestEmbeddingsRefused checks the errors for requests that no provider can serve.
func TestEmbeddingsRefused(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: harness.DialectYAML("cohere", up.URL+"/v2")})
	for body, param := range map[string]string{
		`{"model":"house/chat"}`:                                        "input",
		`{"model":"house/chat","input":""}`:                             "input",
		`{"model":"house/chat","input":[]}`:                             "input",
		`{"model":"house/chat","input":["a",""]}`:                       "input[1]",
		`{"model":"house/chat","input":[1,2]}`:                          "input",
		`{"model":"house/chat","input":"a","encoding_format":"hex"}`:    "encoding_format",
		`{"model":"house/chat","input":"a","dimensions":0}`:             "dimensions",
		`{"model":"house/chat","input":"a","model":"house/tools"}`:      "model",
		`{"model":"house/chat","input":"a","Encoding_Format":"base64"}`: "encoding_format",
		`{"model":5,"input":"a"}`:                                       "model",
	} {
		r := h.Do(harness.VendorEmbed(body))
		var e struct{ Error struct{ Type, Param string } }
		if err := json.Unmarshal([]byte(r.Body), &e); err != nil || r.Status != http.StatusBadRequest || e.Error.Param != param || e.Error.Type != "invalid_request_error" {
			t.Errorf("%s: status %d, %s; want the parameter %s", body, r.Status, r.Body, param)
		}
	}
	if n := len(up.Records(t)); n != 0 {
		t.Errorf("%d requests reached the provider", n)
	}
}

// TestNoEmbeddings requests features that the provider's wire format lacks.
func TestNoEmbeddings(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: harness.DialectYAML("anthropic", up.URL+"/v1")})
	r := h.Do(harness.VendorEmbed(`{"model":"house/chat","input":"Hello"}`))
	if r.Status != http.StatusBadRequest || !strings.Contains(r.Body, "does not offer embeddings") {
		t.Errorf("status %d, %s", r.Status, r.Body)
	}
}

// TestEmbedContent requests one vector at Gemini's client API, which equals that of a batch.
func TestEmbedContent(t *testing.T) {
	t.Parallel()
	for name, prefix := range harness.Embedders {
		up := harness.NewUpstream(t)
		h := harness.Open(t, harness.Setup{YAML: harness.DialectYAML(name, up.URL+prefix)})
		const content = `"content":{"parts":[{"text":"Hello"}]},"outputDimensionality":3`
		var one struct {
			Embedding     struct{ Values []float32 }
			UsageMetadata struct {
				Prompt int64       `json:"promptTokenCount"`
				Cost   json.Number `json:"cost"`
			}
		}
		var many struct{ Embeddings []struct{ Values []float32 } }
		first := h.Do(harness.Ask{Path: "/v1beta/models/house/chat:embedContent", Body: `{"model":"models/house/chat",` + content + `}`})
		second := h.Do(harness.Ask{Path: "/v1beta/models/house/chat:batchEmbedContents", Body: `{"requests":[{"model":"models/house/chat",` + content + `}]}`})
		if json.Unmarshal([]byte(first.Body), &one) != nil || json.Unmarshal([]byte(second.Body), &many) != nil || len(many.Embeddings) != 1 ||
			len(one.Embedding.Values) != 3 || !slices.Equal(one.Embedding.Values, many.Embeddings[0].Values) || one.UsageMetadata.Prompt == 0 || one.UsageMetadata.Cost == "" {
			t.Errorf("%s: %s, %s", name, first.Body, second.Body)
		}
		wrong := h.Do(harness.Ask{Path: "/v1beta/models/house/chat:embedContent", Body: `{"content":{"parts":[{"inlineData":{}}]}}`})
		if wrong.Status != http.StatusBadRequest || !strings.Contains(wrong.Body, "content.parts[0]") || strings.Contains(wrong.Body, "requests") {
			t.Errorf("%s: status %d, %s", name, wrong.Status, wrong.Body)
		}
	}
}
