package quote

import (
	"encoding/base64"
	"fmt"
	"os"
	"strings"
	"testing"

	"weir/internal/must"
	"weir/internal/pricing"
	"weir/internal/quotetest"
)

// held is a request of a kind that programs send, with what its vendor counts.
type held struct {
	name, body string
	truth      int64 // tokens of input, by the vocabulary of the model
	most       int64 // that may be held for a token of truth, in tenths
}

// holds are the requests of the table in docs/limits.md. How a vendor writes an agent's tools is not known; they are taken for
// four fifths of their JSON.
func holds(t *testing.T) []held {
	t.Helper()
	const framing = 4 // tokens of a message, and 3 of the reply
	words := `Retrieval finds passages that answer a question, and the model reads them before it writes. `
	question := "What is the capital of France, and since when has it been the seat of the government there?"
	passages := strings.Repeat(words, 8192/len(words))
	turn := `{"role":"user","content":"` + strings.Repeat(words, 5) + `"},{"role":"assistant","content":"` + strings.Repeat(words, 5) + `"},`
	agent, tools := "", ""
	for i := range 40 {
		agent += turn
		tools += fmt.Sprintf(`{"type":"function","function":{"name":"read_%d","description":"%s","parameters":{"type":"object",`+
			`"properties":{"path":{"type":"string","description":"%s"}},"required":["path"]}}},`, i, words+words, words)
	}
	pixels, page := inline(t, 1024, 1024), base64.StdEncoding.EncodeToString(must.Get(os.ReadFile("testdata/page.pdf"))(t))
	chat := func(content string) string {
		return `{"max_tokens":9,"messages":[{"role":"user","content":` + content + `}]}`
	}
	return []held{
		{"hi", chat(`"hi"`), 8, 80},
		{"short chat", chat(`"` + question + `"`), CountTokens(question) + framing + 3, 40},
		{"RAG of 8 KB", chat(`"` + passages + question + `"`), CountTokens(passages+question) + framing + 3, 20},
		{
			"agent of 71 KB", `{"max_tokens":9,"tools":[` + strings.TrimSuffix(tools, ",") + `],"messages":[` + agent + `{"role":"user","content":"` + question + `"}]}`,
			CountTokens(tools)*8/10 + 81*framing + 80*CountTokens(strings.Repeat(words, 5)) + CountTokens(question), 25,
		},
		{"image of 1024 by 1024", chat(`[{"type":"image_url","image_url":{"url":"data:image/png;base64,` + pixels + `"}}]`), 765 + 7, 30},
		{
			"PDF of one page", chat(`[{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,` + page + `"}}]`),
			CountTokens("Report\n"+strings.Repeat(`The quick brown fox jumps over the lazy dog and walks along the river until the evening comes, when “quotes” matter. `, 26)) + 1105 + 7, 50,
		},
	}
}

// TestHoldsOverTruth holds how much is held for a token that the vendor counts, by the vocabulary that is here, and prints the
// table of docs/limits.md with -v.
func TestHoldsOverTruth(t *testing.T) {
	t.Parallel()
	for _, h := range holds(t) {
		for _, model := range []string{"gpt-4o", "claude-sonnet-4-5", "another"} {
			q := newAsked(t, quotetest.Asked{ClientAPI: "openai", Model: model, Body: h.body, Sizes: pricing.ModelOverride{Context: 400_000, MaxOutput: 9}})
			coarse, fine := q.bound(Coarse), q.bound(Fine)
			t.Logf("%-22s %-18s %6d true, fine %6d (%5.1f), coarse %6d (%5.1f)", h.name, model, h.truth, fine.InputTokens(),
				float64(fine.InputTokens())/float64(h.truth), coarse.InputTokens(), float64(coarse.InputTokens())/float64(h.truth))
			if n := fine.InputTokens(); model == "gpt-4o" && (n < h.truth || n*10 > h.truth*h.most) {
				t.Errorf("%s: %d tokens held, want %d to %d", h.name, n, h.truth, h.truth*h.most/10)
			}
		}
	}
}
