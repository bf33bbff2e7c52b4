package schematest_test

import (
	"bytes"
	"net/http/httptest"
	"slices"
	"testing"

	"weir/internal/dialect"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/schematest"
)

// embedder generates valid requests of a client API for embeddings.
type embedder struct {
	name, path, suffix, own string
	make                    func(generator) object
}

func embedders() []embedder {
	return []embedder{
		{"openai", "/v1/embeddings", "", "openai-embed", embeddingsRequest},
		{"gemini", "/v1beta/models/m:batchEmbedContents", ":batchEmbedContents", "gemini-embed", batchRequest},
		{"gemini", "/v1beta/models/m:embedContent", ":embedContent", "", func(g generator) object { return g.contentRequest() }},
	}
}

func embeddingsRequest(g generator) object {
	r := object{"model": "m", "input": one[any](g, g.text(), list{g.text()}, list{g.text(), g.text()})}
	g.some(r, map[string]func() any{
		"dimensions": g.count(1, 3072), "encoding_format": of(g, "float", "base64"), "user": of(g, "ann"),
	})
	return r
}

func batchRequest(g generator) object {
	requests := list{g.contentRequest()}
	for range g.IntN(3) {
		requests = append(requests, g.contentRequest())
	}
	return object{"requests": requests}
}

func (g generator) contentRequest() object {
	r := object{"model": "models/m", "content": object{"parts": list{object{"text": g.text()}}}}
	g.some(r, map[string]func() any{
		"taskType": of(g, "RETRIEVAL_QUERY", "CLUSTERING"), "title": of(g, "t"), "outputDimensionality": g.count(1, 3072),
	})
	return r
}

// embedTargets returns vendors with a published schema of embeddings.
func embedTargets() []target {
	return []target{
		{"openai-embed", "openai", "openai", "text-embedding-3-small"},
		{"gemini-embed", "gemini", "gemini", "gemini-embedding-001"},
		{"cohere-embed", "cohere", "cohere", "embed-v4.0"},
		{"mistral-embed", "mistral", "openai", "codestral-embed"},
	}
}

// TestEmbeddingsKeepToVendorsSchemas sends texts that are valid at a client API to each vendor that embeds: its
// published schema accepts the sent request, and nothing is refused.
func TestEmbeddingsKeepToVendorsSchemas(t *testing.T) {
	t.Parallel()
	all := must.Get(schematest.All())(t)
	for _, c := range embedders() {
		for _, to := range embedTargets() {
			t.Run(c.path+" to "+to.vendor(), func(t *testing.T) {
				t.Parallel()
				for s := range tried(*seeds) {
					body := encoded(c.make(newGenerator(s)))
					if own := all[c.own]; own != nil {
						if found := own.Violations(body); found != nil {
							t.Fatalf("-seed %d: the generator made %s: %v", s, body, found)
						}
					}
					out, err := c.sent(t, to, body)
					if err != nil {
						t.Fatalf("-seed %d: %s is refused: %v", s, body, err)
					}
					if found := all[to.schema].Violations(out); found != nil {
						t.Fatalf("-seed %d: %v\n%s\nis sent as\n%s", s, found, body, out)
					}
				}
			})
		}
	}
}

// sent returns the request that the gateway sends to a target.
func (c embedder) sent(t *testing.T, to target, body []byte) ([]byte, error) {
	t.Helper()
	isMine := func(o *dialect.Operation) bool { return o.Op == llm.OpEmbed && o.Suffix == c.suffix }
	in := dialects().Named(c.name)
	from := in.Operations[slices.IndexFunc(in.Operations, isMine)]
	spoken := dialects().Named(to.format).For(llm.OpEmbed)
	quirks := &must.Get(catalogue())(t).Speaking(to.provider, to.format).Quirks
	r := httptest.NewRequest("POST", c.path, bytes.NewReader(body))
	r.SetPathValue("target", "m"+c.suffix)
	head, err := from.Scan(body, r)
	if err != nil {
		return nil, err
	}
	if from == spoken {
		return spoken.Splice(nil, body, &head, llm.Splice{Model: to.model}, quirks), nil
	}
	tree, err := from.DecodeRequest(body)
	if err != nil {
		return nil, err
	}
	tree.Model = to.model
	out, _, err := spoken.EncodeRequest(tree, quirks)
	return out, err
}
