package app_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"

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

// embedders are the wire formats in which providers embed, with what stands
// between the simulator's address and their path.
var embedders = map[string]string{"openai": "/v1", "responses": "/v1", "gemini": "/v1beta", "cohere": "/v2", "ollama": "", "bedrock": ""}

// TestEmbeddings asks providers of each wire format for vectors, as numbers and
// in base64, which must be the same.
func TestEmbeddings(t *testing.T) {
	t.Parallel()
	for name, prefix := range embedders {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			up := newUpstream(t)
			h := open(t, setup{yaml: dialectYAML(name, up.url+prefix)})
			var e embedding
			r := h.do(vendorEmbed(`{"model":"house/chat","input":"Hello","dimensions":3}`))
			decode(t, r.body, &e)
			var numbers []float32
			if err := json.Unmarshal(e.Data[0].Embedding, &numbers); err != nil || len(numbers) != 3 || e.Object != "list" {
				t.Errorf("numbers: %s", r.body)
			}
			all := up.records(t)
			if last := all[len(all)-1]; last.Outcome != simulator.Served || last.Usage.InputTokens() != e.Usage.Prompt || e.Usage.Total != e.Usage.Prompt {
				t.Errorf("told %+v, served %+v", e.Usage, last)
			}
			if got := r.header.Get("X-Weir-Cost-USD"); got == "" || got != e.Usage.Cost.String() {
				t.Errorf("cost %q in the header, %q in the body", got, e.Usage.Cost)
			}
			r = h.do(vendorEmbed(`{"model":"house/chat","input":"Hello","dimensions":3,"encoding_format":"base64"}`))
			var coded struct{ Data []struct{ Embedding []byte } }
			if err := json.Unmarshal([]byte(r.body), &coded); err != nil || len(coded.Data) != 1 || !bytes.Equal(coded.Data[0].Embedding, littleEndian(numbers)) {
				t.Fatalf("base64: %v, got %s, want %v", err, r.body, numbers)
			}
		})
	}
}

// littleEndian is the bytes of numbers, as they stand in base64.
func littleEndian(numbers []float32) (b []byte) {
	for _, n := range numbers {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(n))
	}
	return b
}

// vendorEmbed is a request for vectors.
func vendorEmbed(body string) ask { return ask{path: "/v1/embeddings", body: body} }

// TestEmbeddingsRefused holds what is told of requests that nobody can serve.
func TestEmbeddingsRefused(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	h := open(t, setup{yaml: dialectYAML("cohere", up.url+"/v2")})
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
		r := h.do(vendorEmbed(body))
		var e struct{ Error struct{ Type, Param string } }
		if err := json.Unmarshal([]byte(r.body), &e); err != nil || r.status != http.StatusBadRequest || e.Error.Param != param || e.Error.Type != "invalid_request_error" {
			t.Errorf("%s: status %d, %s; want the parameter %s", body, r.status, r.body, param)
		}
	}
	if n := len(up.records(t)); n != 0 {
		t.Errorf("%d requests reached the provider", n)
	}
}

// TestNoEmbeddings asks for what the provider's wire format does not have.
func TestNoEmbeddings(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	h := open(t, setup{yaml: dialectYAML("anthropic", up.url+"/v1")})
	r := h.do(vendorEmbed(`{"model":"house/chat","input":"Hello"}`))
	if r.status != http.StatusBadRequest || !strings.Contains(r.body, "does not offer embeddings") {
		t.Errorf("status %d, %s", r.status, r.body)
	}
}

// TestEmbedContent asks at Gemini's client API for one vector, which is the same as
// that of several.
func TestEmbedContent(t *testing.T) {
	t.Parallel()
	for name, prefix := range embedders {
		up := newUpstream(t)
		h := open(t, setup{yaml: dialectYAML(name, up.url+prefix)})
		const content = `"content":{"parts":[{"text":"Hello"}]},"outputDimensionality":3`
		var one struct {
			Embedding     struct{ Values []float32 }
			UsageMetadata struct {
				Prompt int64       `json:"promptTokenCount"`
				Cost   json.Number `json:"cost"`
			}
		}
		var many struct{ Embeddings []struct{ Values []float32 } }
		first := h.do(ask{path: "/v1beta/models/house/chat:embedContent", body: `{"model":"models/house/chat",` + content + `}`})
		second := h.do(ask{path: "/v1beta/models/house/chat:batchEmbedContents", body: `{"requests":[{"model":"models/house/chat",` + content + `}]}`})
		if json.Unmarshal([]byte(first.body), &one) != nil || json.Unmarshal([]byte(second.body), &many) != nil || len(many.Embeddings) != 1 ||
			len(one.Embedding.Values) != 3 || !slices.Equal(one.Embedding.Values, many.Embeddings[0].Values) || one.UsageMetadata.Prompt == 0 || one.UsageMetadata.Cost == "" {
			t.Errorf("%s: %s, %s", name, first.body, second.body)
		}
		wrong := h.do(ask{path: "/v1beta/models/house/chat:embedContent", body: `{"content":{"parts":[{"inlineData":{}}]}}`})
		if wrong.status != http.StatusBadRequest || !strings.Contains(wrong.body, "content.parts[0]") || strings.Contains(wrong.body, "requests") {
			t.Errorf("%s: status %d, %s", name, wrong.status, wrong.body)
		}
	}
}
