package quote

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/tiktoken-go/tokenizer"
	"github.com/tiktoken-go/tokenizer/codec"
	"pgregory.net/rapid"

	"weir/internal/llm"
	"weir/internal/picture"
	"weir/internal/pricing"
	"weir/internal/quotetest"
	"weir/internal/worktest"
)

func TestSameVocabulary(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]bool{
		"gpt-4o": true, "gpt-4o-mini": true, "gpt-5.1": true, "openai/gpt-oss-120b": true, "o3-mini": true, "o1": true,
		"gpt-4": false, "gpt-4-turbo": false, "gpt-3.5-turbo": false, "o1x": false, "claude-opus-4-5": false, "": false, "my-gpt-4o": false,
	} {
		if got := sameVocabulary(model); got != want {
			t.Errorf("%q: %t, want %t", model, got, want)
		}
	}
}

// TestTokensAtMost compares the bound of a text in a body with the vocabularies' counts of the text itself: the narrow
// margin covers newer models, and the wide margin older ones.
func TestTokensAtMost(t *testing.T) {
	t.Parallel()
	vocabularies := map[tokenizer.Encoding]bool{tokenizer.O200kBase: true, tokenizer.Cl100kBase: false, tokenizer.P50kBase: false}
	codecs := map[tokenizer.Encoding]tokenizer.Codec{}
	for name := range vocabularies {
		codec, err := tokenizer.Get(name)
		if err != nil {
			t.Fatal(err)
		}
		codecs[name] = codec
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(
			quotetest.Texts(),
			rapid.Map(rapid.SliceOfN(rapid.StringMatching(`[ \t\n]{0,60}[a-z(){};=<>"\\]{0,9}`), 0, 30), func(list []string) string { return strings.Join(list, "") }),
			rapid.SampledFrom([]string{strings.Repeat("<|endoftext|>", 50), strings.Repeat("=", 700), strings.Repeat("\n", 700), strings.Repeat("aGVsbG8gd29ybGQ", 60), strings.Repeat("日本語", 90)}),
		).Draw(t, "text")
		body, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		for name, same := range vocabularies {
			n, err := codecs[name].Count(text)
			if err != nil {
				t.Fatal(err)
			}
			if got := tokensAtMost(body, same); got < int64(n) || got > int64(len(body)) {
				t.Fatalf("%s: at most %d tokens of %q, want from %d to %d", name, got, text, n, len(body))
			}
		}
	})
}

// TestEveryCodePointHasTokens checks that the tokens of all code points, joined and separate, are the whole text: text
// that the library skipped would count as no token, in a bound or in an estimate.
func TestEveryCodePointHasTokens(t *testing.T) {
	t.Parallel()
	vocabulary := codec.NewO200kBase()
	for _, between := range []string{"", " ", "7"} {
		var text strings.Builder
		for r := rune(0); r <= unicode.MaxRune; r++ {
			if assigned(r) {
				text.WriteString(string(r) + between)
			}
			if text.Len() < 1<<10 && r < unicode.MaxRune {
				continue
			}
			given := countable(text.String())
			if _, tokens, err := vocabulary.Encode(given); err != nil || strings.Join(tokens, "") != given {
				t.Errorf("the tokens of code points up to %U with %q between are not the whole text: %v", r, between, err)
			}
			text.Reset()
		}
	}
}

// assigned reports whether a code point is a character. Only a sample of the Han and private-use characters counts.
func assigned(r rune) bool {
	return r < 0xf0000 && unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Z, unicode.C) &&
		(!unicode.In(r, unicode.Han, unicode.Hangul, unicode.Tangut, unicode.Yi) || r%16 == 0) &&
		(!unicode.Is(unicode.Co, r) || r%64 == 0)
}

// TestDeleteIsCounted checks that U+007F counts as in js-tiktoken 1.0.21, one token each.
func TestDeleteIsCounted(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{strings.Repeat("\x7f", 3000): 3000, "a\x7fb": 3, " \x7f\x7f\n": 4} {
		if got := CountTokens(text); got != want {
			t.Errorf("%.20q: %d tokens estimated, want %d", text, got, want)
		}
		for _, same := range []bool{false, true} {
			if got := tokensAtMost([]byte(text), same); got < want {
				t.Errorf("%.20q: at most %d tokens, same vocabulary %t, want %d", text, got, same, want)
			}
		}
	}
}

// TestEscapesJoinTokens checks the bound of texts whose escapes are fewer tokens in a body than the text: the end of an
// escape is a letter, with which the vocabulary joins the next characters.
func TestEscapesJoinTokens(t *testing.T) {
	t.Parallel()
	vocabulary := codec.NewO200kBase()
	for _, piece := range []string{`\b_PROXY`, `\b_D`, `\/Cuando`, `\\namelijk`, `\":{\".e`, `\":\"([(`, `\t\tbedingt`, `\f's`, `\n's`, `\u0008_D`} {
		body := []byte(strings.Repeat(piece, 500))
		var text string
		if err := json.Unmarshal([]byte(`"`+string(body)+`"`), &text); err != nil {
			t.Fatal(err)
		}
		want, err := vocabulary.Count(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := tokensAtMost(body, true); got < int64(want) {
			t.Errorf("%s, 500 times: at most %d tokens, want %d", piece, got, want)
		}
	}
}

// TestTokensAtMostOfMuch checks that a text that is too long to be counted counts by its bytes.
func TestTokensAtMostOfMuch(t *testing.T) {
	t.Parallel()
	text := []byte(strings.Repeat("many words ", 60_000))
	beyond := int64(len(text) - countAtMost)
	for _, same := range []bool{false, true} {
		if got := tokensAtMost(text, same); got < beyond+countAtMost/8 || got > beyond+countAtMost {
			t.Errorf("same vocabulary %t: at most %d tokens, want those of the first %d bytes and the other %d", same, got, countAtMost, beyond)
		}
	}
}

// TestBlanksAreCounted checks that white space is counted in linear time, and that the text around it is counted as
// usual.
func TestBlanksAreCounted(t *testing.T) {
	began := worktest.ProcessorTime()
	text := "some words" + strings.Repeat(" \n", countAtMost/2) + "some words"
	if got, ok := countTokens(text); !ok || got < countAtMost/longestBlank || got > countAtMost {
		t.Errorf("got %d tokens, %t", got, ok)
	}
	if took := worktest.ProcessorTime() - began; took > 20*time.Second {
		t.Errorf("%v for %d bytes", took, len(text))
	}
	var got []string
	for p := range pieces("a" + strings.Repeat("\u2003", longestBlank) + "b" + strings.Repeat(" ", longestBlank+2)) {
		got = append(got, strings.TrimSpace(p))
	}
	if want := "a" + strings.Repeat("\u2003", longestBlank) + "b,"; strings.Join(got, ",") != want {
		t.Errorf("got the pieces %q, want %q", got, want)
	}
}

// TestCutBlanksAreHeld checks that white space counted in pieces is held at its count as a whole: the count of the
// pieces is up to three lower if several kinds of it alternate.
func TestCutBlanksAreHeld(t *testing.T) {
	t.Parallel()
	vocabulary := codec.NewO200kBase()
	rapid.Check(t, func(t *rapid.T) {
		kinds := rapid.SliceOfN(rapid.SampledFrom([]string{" ", "\t", "\n", "\r\n", "\u00a0", "\u3000", "  ", "    ", "\v", "\u2028"}), 1, 4).Draw(t, "kinds")
		blank := rapid.SliceOfN(rapid.SampledFrom(kinds), longestBlank+1, 4*longestBlank).Draw(t, "blank")
		text := "x" + strings.Join(blank, "") + "a"
		want, err := vocabulary.Count(text)
		if err != nil {
			t.Fatal(err)
		}
		body, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, body := range []string{string(body), text} {
			if got := tokensAtMost([]byte(body), true); got < int64(want) {
				t.Fatalf("%q: at most %d tokens, want %d", body, got, want)
			}
		}
	})
}

// TestTextsShareOneBound checks that many texts share the bound on counted bytes of one.
func TestTextsShareOneBound(t *testing.T) {
	text := strings.Repeat("many words of a text. ", 750)
	r := &llm.Request{Embedding: &llm.Embedding{Texts: slices.Repeat([]string{text}, 2000)}}
	began := worktest.ProcessorTime()
	got, want := (&Request{tree: tree{request: r}}).countInput(), 2000*CountTokens(text)
	if got < want*99/100 || got > want*101/100 {
		t.Errorf("got %d tokens, want about %d", got, want)
	}
	if took := worktest.ProcessorTime() - began; took > 5*time.Second {
		t.Errorf("it needed %v", took)
	}
	r = &llm.Request{Embedding: &llm.Embedding{Texts: slices.Repeat([]string{"a"}, 2000)}}
	if got := (&Request{tree: tree{request: r}}).countInput(); got != 2000 {
		t.Errorf("got %d tokens of 2000 texts of one token", got)
	}
}

// TestFineBoundIsLower checks the reduction by the fine bound: of text about three quarters, of an image all of its
// bytes.
func TestFineBoundIsLower(t *testing.T) {
	t.Parallel()
	shown, sound := strings.Repeat("iVBORw0KGgo9", 20_000), mp3(400)
	words := strings.Repeat("some words that people write ", 1000)
	mostImage := picture.RuleOf("gpt-5").Most()
	tests := []struct {
		name, clientAPI, body string
		least, most           int64 // of input tokens
	}{
		{"text", "openai", `{"messages":[{"role":"user","content":"` + words + `"}]}`, 5000, 8000},
		{"an image", "openai", `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,` + shown + `"}},{"type":"text","text":"` + words + `"}]}]}`, 5000 + mostImage, 8000 + mostImage},
		{"the same image twice", "responses", `{"input":[{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,` + shown + `"},{"type":"input_image","image_url":"data:image/png;base64,` + shown + `"}]}]}`, 2 * mostImage, 2*mostImage + 1300},
		{"an image, and its bytes as a text", "anthropic", `{"max_tokens":1,"messages":[{"role":"user","content":[{"type":"text","text":"` + shown + `"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + shown + `"}}]}]}`, mostImage + int64(len(shown))/4, mostImage + int64(len(shown)) + 1200},
		{"an image in another alphabet", "gemini", `{"contents":[{"parts":[{"inlineData":{"mimeType":"image/png","data":"-_` + shown + `--"}}]}]}`, mostImage, mostImage + int64(len(shown)) + 1200},
		{"a recording", "openai", `{"messages":[{"role":"user","content":[{"type":"input_audio","input_audio":{"format":"mp3","data":"` + sound + `"}}]}]}`, int64(len(sound)) / soundBytes, int64(len(sound))/soundBytes + aroundSound + 1200},
		{"a text in base64", "gemini", `{"contents":[{"parts":[{"inlineData":{"mimeType":"text/plain","data":"` + shown + `"}}]}]}`, int64(len(shown)), int64(len(shown)) + 1200},
	}
	for _, tt := range tests {
		q := newAsked(t, quotetest.Asked{ClientAPI: tt.clientAPI, Model: "gpt-5", Body: tt.body, Sizes: pricing.ModelOverride{Context: 10 * window}})
		u := q.bound(Fine)
		if got := u.InputTokens(); got < tt.least || got > tt.most {
			t.Errorf("%s: %d tokens of input, want from %d to %d", tt.name, got, tt.least, tt.most)
		}
		if u := q.bound(Coarse); u.InputTokens() < tt.least {
			t.Errorf("%s: %d tokens of input at a glance, want at least %d", tt.name, u.InputTokens(), tt.least)
		}
	}
}
