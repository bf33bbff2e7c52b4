package quote

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"weir/internal/dialect/compose"
	"weir/internal/llm"
	"weir/internal/quotetest"
)

// citedBody generates a conversation at /v1/messages with documents for citations, of few words or in small chunks
// below long titles.
func citedBody(t *rapid.T) string {
	title := strings.Repeat("Größe ", rapid.SampledFrom([]int{1, 60}).Draw(t, "title"))
	text := rapid.SampledFrom([]string{"a", "A. B! ", "x\\n", "漢字。", "😀", "<&>", "the quick brown fox jumps over the lazy dog "})
	var blocks []string
	for range rapid.IntRange(1, 6).Draw(t, "documents") {
		words := func() string { return strings.Join(rapid.SliceOfN(text, 1, 8).Draw(t, "text"), "") }
		var chunks []string
		for range rapid.IntRange(1, 120).Draw(t, "chunks") {
			chunks = append(chunks, `{"type":"text","text":"`+words()+`"}`)
		}
		blocks = append(blocks, fmt.Sprintf(rapid.SampledFrom([]string{
			`{"type":"document","title":%[1]q,"context":"c","citations":{"enabled":true},"source":{"type":"text","media_type":"text/plain","data":"%[3]s"}}`,
			`{"type":"document","title":%[1]q,"citations":{"enabled":true},"source":{"type":"content","content":[%[2]s]}}`,
			`{"type":"search_result","title":%[1]q,"source":"https://a.example","citations":{"enabled":true},"content":[%[2]s]}`,
		}).Draw(t, "kind"), title, strings.Join(chunks, ","), words()))
	}
	return `{"max_tokens":9,"messages":[{"role":"user","content":[` + strings.Join(blocks, ",") + `]}]}`
}

// TestCitedDocumentsAreWithinBound checks that the documents for citations that providers receive, with marks around
// each sentence or a head before each chunk, are within a budget's hold.
func TestCitedDocumentsAreWithinBound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		body := citedBody(t)
		for target, model := range map[string]string{"anthropic": "claude-sonnet-4-5", "bedrock": "anthropic.claude-sonnet-4-5-20250929-v1:0", "cohere": "command-a-03-2025", "openai": "gpt-4o"} {
			q := newAsked(t, quotetest.Asked{ClientAPI: "anthropic", Target: target, Model: model, Body: body, Sizes: sized()})
			tree, err := q.Tree()
			if err != nil {
				t.Fatal(err)
			}
			tree = compose.Offered(target, tree)
			sent := *tree
			sent.Model = model
			out, _, err := q.Spoken.EncodeRequest(&sent, &llm.Quirks{})
			if err != nil {
				t.Fatalf("%s: %v", target, err)
			}
			marked := int64(0) // with four tokens around each sentence if the vendor splits it
			if target == "anthropic" || target == "bedrock" {
				marked = 4 * int64(strings.Count(body, ".")+strings.Count(body, "!")+strings.Count(body, `\n`)+strings.Count(body, "。"))
			}
			for _, how := range []Precision{Coarse, Fine} {
				d := q.demandOf(how)
				if got, want := d.fixed[llm.Input], CountTokens(string(out))+marked; got < want {
					t.Fatalf("%s: a bound of %d tokens (%v), want at least %d of the sent request: %s", target, got, how, want, out)
				}
			}
		}
	})
}

// TestMarksOfSentences checks that the marks of a text are no more than its bytes, and that short sentences have more
// of them than a long one.
func TestMarksOfSentences(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		want int64
	}{
		{"", aroundSentence},
		{"a", aroundSentence},
		{strings.Repeat("word ", 100), (1 + 500/shortSentence) * aroundSentence},
		{strings.Repeat("A long sentence that ends with a sign here. ", 10), (1 + 440/shortSentence + 10) * aroundSentence},
		{strings.Repeat("a.", 100), 200 + aroundSentence},
	} {
		if got := marks(tt.text); got != tt.want {
			t.Errorf("%.20q of %d bytes: %d, want %d", tt.text, len(tt.text), got, tt.want)
		}
	}
}
