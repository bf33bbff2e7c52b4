package quote

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"weir/internal/dialect"
	"weir/internal/must"
	"weir/internal/pricing"
	"weir/internal/quotetest"
)

// held holds a request of a kind that programs send, with its vendor's count.
type held struct {
	name, body string
	truth      int64 // tokens of input, by the vocabulary of the model
	most       int64 // the most that may be held for a counted token, in tenths
}

// holds returns the requests of the table in docs/holds-evidence.md. The vendors' form of an agent's tools is unknown;
// it is assumed to be four fifths of their JSON.
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

// TestHoldsOverTruth checks the hold for each token that the vendor counts, by the vocabulary in this repository, and
// prints the table of docs/holds-evidence.md with -v. A provider's count is the truth.
func TestHoldsOverTruth(t *testing.T) {
	t.Parallel()
	for _, h := range holds(t) {
		for _, model := range []string{"gpt-4o", "claude-sonnet-4-5", "another"} {
			q := newAsked(t, quotetest.Asked{ClientAPI: "openai", Model: model, Body: h.body, Sizes: pricing.ModelOverride{Context: 400_000, MaxOutput: 9}})
			coarse, fine, counted := q.bound(Coarse), q.bound(Fine), q.boundCounted(h.truth, true)
			t.Logf("%-22s %-18s %6d true, fine %6d (%5.1f), coarse %6d (%5.1f), counted %6d (%4.1f)", h.name, model, h.truth, fine.InputTokens(),
				float64(fine.InputTokens())/float64(h.truth), coarse.InputTokens(), float64(coarse.InputTokens())/float64(h.truth), counted, float64(counted)/float64(h.truth))
			most := mostCounted[h.name]
			if h.name == "image of 1024 by 1024" && model == "another" { // a quarter of any vendor's highest count
				most = 6
			}
			if counted < h.truth || most > 0 && counted > h.truth*most {
				t.Errorf("%s with %s: %d tokens held after a count, want %d to %d", h.name, model, counted, h.truth, h.truth*most)
			}
			if n := fine.InputTokens(); model == "gpt-4o" && (n < h.truth || n*10 > h.truth*h.most) {
				t.Errorf("%s: %d tokens held, want %d to %d", h.name, n, h.truth, h.truth*h.most/10)
			}
		}
	}
}

// mostCounted is the most tokens that may be held for a counted one if the provider counts.
var mostCounted = map[string]int64{"short chat": 4, "RAG of 8 KB": 2, "agent of 71 KB": 2, "image of 1024 by 1024": 2}

// boundCounted returns the held input after a provider's count, with or without media.
func (q *Quote) boundCounted(tokens int64, media bool) int64 {
	r, plain := q.PlainText()
	if !plain {
		r = q.inputs()
	}
	if q.MayCount(&r) {
		r.TakeCount(tokens, &dialect.Counter{Media: media})
		u := upperBound{q, Counted, &r}.rest()
		return u.InputTokens()
	}
	u := upperBound{q, Fine, &r}.rest()
	return u.InputTokens()
}

// TestCountsNeverRaise checks for any text, count and model that the hold after a count is never above the fine bound
// and never below a quarter of it, without the text around the request, is at least the count if the bound allows it,
// and does not shrink with a larger count; and that media stay held if they are not counted.
func TestCountsNeverRaise(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text, _ := json.Marshal(quotetest.Texts().Draw(t, "text"))
		model := rapid.SampledFrom([]string{"gpt-4o", "claude-sonnet-4-5", "qwen3", "another"}).Draw(t, "model")
		tokens := rapid.OneOf(rapid.Int64Range(-1, 5000), rapid.Int64()).Draw(t, "tokens")
		media := rapid.Bool().Draw(t, "media")
		q := newAsked(t, quotetest.Asked{ClientAPI: "openai", Model: model, Sizes: sized(), Body: `{"max_tokens":9,"messages":[{"role":"user","content":` + string(text) + `}]}`})
		u := q.bound(Fine)
		fine, held := u.InputTokens(), q.boundCounted(tokens, media)
		if held > fine || held < (fine-dialect.Around(model))/leastCounted || tokens > held && held < fine {
			t.Fatalf("%q: %d held after a count of %d, the fine bound is %d", text, held, tokens, fine)
		}
		if less := q.boundCounted(tokens/2, media); tokens > 0 && less > held {
			t.Fatalf("%q: %d held after a count of %d, %d after half of it", text, held, tokens, less)
		}
	})
	pixels := inline(t, 1024, 1024)
	q := newAsked(t, quotetest.Asked{ClientAPI: "openai", Model: "another", Sizes: sized(), Body: `{"max_tokens":9,"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,` + pixels + `"}}]}]}`})
	u := q.bound(Fine)
	if with, without := q.boundCounted(800, true), q.boundCounted(800, false); with >= without || without > u.InputTokens() {
		t.Errorf("an image: %d held if it is counted, %d if it is not, the fine bound is %d", with, without, u.InputTokens())
	}
}

// TestRequestsThatNoCountShows checks the requests whose size no count of the provider's shows.
func TestRequestsThatNoCountShows(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, members string
		want          bool
	}{
		{"text", `"messages":[{"role":"user","content":"Hi"}]`, true},
		{"a function", `"messages":[{"role":"user","content":"Hi"}],"tools":[{"type":"function","function":{"name":"f","parameters":{}}}]`, true},
		{"an image by its address", `"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}]}]`, false},
		{"a search", `"messages":[{"role":"user","content":"Hi"}],"web_search_options":{}`, false},
		{"a field that nobody knows", `"messages":[{"role":"user","content":"Hi"}],"documents_of":["a"]`, false},
	} {
		q := newAsked(t, quotetest.Asked{ClientAPI: "openai", Model: "another", Sizes: sized(), Body: `{"max_tokens":9,` + tt.members + `}`})
		r, plain := q.PlainText()
		if !plain {
			r = q.inputs()
		}
		if got := q.MayCount(&r); got != tt.want {
			t.Errorf("%s: a count can help: %t, want %t", tt.name, got, tt.want)
		}
	}
}
