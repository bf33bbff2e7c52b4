package quote

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"weir/internal/quotetest"
	"weir/internal/worktest"
)

// TestLayoutOfAnyDepth compares the bound of JSON's white space at any depth with rewritten JSON: a token for each end
// of a line, and one for each 16 spaces.
func TestLayoutOfAnyDepth(t *testing.T) {
	t.Parallel()
	for _, depth := range []int{1, 4, 17, 85, 99} {
		compact := strings.Repeat("[1,", depth) + `{"a":true,"b":[null,"x, y: [z]"]}` + strings.Repeat("]", depth)
		var v any
		if err := json.Unmarshal([]byte(compact), &v); err != nil {
			t.Fatal(err)
		}
		wide, err := json.MarshalIndent(v, "", strings.Repeat(" ", indent))
		if err != nil {
			t.Fatal(err)
		}
		want := int64(0)
		for line := range strings.Lines(string(wide)) {
			spaces := len(line) - len(strings.TrimLeft(line, " "))
			want += 1 + int64((spaces+spaceRun-1)/spaceRun)
		}
		got := layout(compact, 0, 0)
		if got < want || got > 2*want {
			t.Errorf("depth %d: %d tokens beyond the bytes, want from %d to twice as many: %s", depth, got, want, compact)
		}
		if more := layout(compact, schemaDepth, 0); more < got {
			t.Errorf("depth %d: %d tokens in %d levels more, want %d at least", depth, more, schemaDepth, got)
		}
	}
}

// TestNumbersAreWrittenOut checks the longest form of a number with an exponent.
func TestNumbersAreWrittenOut(t *testing.T) {
	t.Parallel()
	for number, longest := range map[string]string{
		"1e15": "1000000000000000.0", "1E+20": "100000000000000000000", "-1e20": "-100000000000000000000.0", "2.5e-7": "0.00000025",
		"1e300": fmt.Sprintf("%.1f", 1e300), "1e-300": fmt.Sprintf("%.300f", 1e-300), "1e99999999999": "Infinity", "7": "7", "0.25": "0.25",
	} {
		if got, want := layout(number, 0, 0), int64(len(longest)-len(number)); got < want || got > max(0, want)+longestNumber+mostZeros {
			t.Errorf("%s: %d tokens beyond its bytes, want %d", number, got, want)
		}
	}
}

// TestEscapesAreLonger compares the bound of a text's escapes with those that servers write.
func TestEscapesAreLonger(t *testing.T) {
	t.Parallel()
	for _, r := range "<>&'\x7fé\u00ad\u200b中\ufdfa\U0001f600\U000e0041a\"" {
		want := len(string(r))
		switch {
		case strings.ContainsRune("<>&'", r):
			want = len(`\u003c`)
		case r == 0x7f:
			want = len(`\x7f`)
		case r > 0xffff:
			want = len(`\ud83d\ude00`)
		case r > unicode.MaxASCII:
			want = len(`\u00e9`)
		}
		if got := len(string(r)) + int(escapes(string(r))); got < want || got > want+1 {
			t.Errorf("%U: %d bytes, want %d", r, got, want)
		}
	}
}

// TestLengthenedIsEnough checks that no normalized text is longer than its bytes and the bound of its growth: each code
// point, alone and followed by marks, plain and escaped.
func TestLengthenedIsEnough(t *testing.T) {
	t.Parallel()
	check := func(text, body string) {
		most := int64(max(len(norm.NFC.String(text)), len(norm.NFKC.String(text))))
		if got := int64(len(body)) + lengthened([]byte(body)); got < most {
			t.Errorf("%+q as %s: %d bytes at most, want %d", text, body, got, most)
		}
	}
	marks := []string{"\u0301", "\u0323", "\u0327", "\u0328", "\u031b", "\u0338", "\u0345", "\u0304\u0323", "\u0308\u0304\u0331", "\u093c"}
	for r := rune(0x80); r < 0x30000; r++ {
		if unicode.Is(unicode.Han, r) && r < 0xf900 || unicode.Is(unicode.Hangul, r) || unicode.Is(unicode.Cs, r) {
			continue
		}
		check(string(r), string(r))
		if norm.NFKD.IsNormalString(string(r)) {
			continue // it has no parts that marks could separate
		}
		for _, m := range marks {
			check(string(r)+m, string(r)+m)
		}
		if r <= 0xffff {
			check(string(r), fmt.Sprintf(`\u%04x`, r))
			check(string(r)+"\u0323", fmt.Sprintf(`\u%04x\u0323`, r))
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.RuneFrom(nil, unicode.Mn, unicode.Lo, unicode.So, unicode.Ll), 0, 80, -1).Draw(t, "text")
		if got := lengthened([]byte(text)); got < int64(len(norm.NFKC.String(text))-len(text)) {
			t.Fatalf("%+q: gains %d bytes at most, it has %d and becomes %d", text, got, len(text), len(norm.NFKC.String(text)))
		}
	})
	for text, want := range map[string]int64{"plain": 0, "Grüße, 中文 und 한국어": 0, strings.Repeat("\ufdfa", mostNormalized+10): 30 * (mostNormalized + 10)} {
		if got := lengthened([]byte(text)); got != want {
			t.Errorf("%.40q: gains %d bytes, want %d", text, got, want)
		}
	}
}

// TestLengthenedAllocates checks that the growth of a body is bounded without normalizing or allocating.
func TestLengthenedAllocates(t *testing.T) {
	for _, text := range []string{`\uzzzz`, `\ufdfa`, "\u0301", "\u1161", "\ufdfa", "a\u0301\u0323"} {
		body := []byte(strings.Repeat(text, 1000))
		if got := testing.AllocsPerRun(3, func() { lengthened(body) }); got > 0 {
			t.Errorf("1000 times %+q: %.0f allocations, want none", text, got)
		}
	}
}

// TestClosedModels checks which models only their vendor's servers run: their input is not escaped.
func TestClosedModels(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		target, model string
		want          bool
	}{
		{"openai", "gpt-5", true},
		{"openai", "openai/gpt-4o-mini", true},
		{"anthropic", "claude-opus-4-5", true},
		{"gemini", "gemini-3-pro", true},
		{"openai", "gpt-oss-120b", false},
		{"openai", "openai/gpt-oss-20b", false},
		{"openai", "claude-opus-4-5", false},
		{"anthropic", "qwen3-claude-distill", false},
		{"gemini", "gemma-3-27b", false},
	} {
		if got := newAsked(t, quotetest.Asked{ClientAPI: tt.target, Model: tt.model, Body: `{"max_tokens":9}`}).closed(); got != tt.want {
			t.Errorf("%s in %s: %t, want %t", tt.model, tt.target, got, tt.want)
		}
	}
}

// FuzzRewrittenJSON checks that the growth of any bytes by servers' rewriting is bounded in linear time.
func FuzzRewrittenJSON(f *testing.F) {
	for _, text := range []string{`{"a":[1,2e3,{"b":"\u003c"}]}`, "]]}}", `"\`, `\ufdfa\u`, "\ufdfa", "\U0001d160", "\u01df\u0323", "\xff\xfe", "1e", `{"a":{"b":{}}}`, "\u0e33\u0e33", "\u0308"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		worktest.Check(t, text, func(text []byte) {
			if layout(text, schemaDepth, callMarks) < 0 || escapes(text) < 0 || lengthened(text) < 0 {
				t.Errorf("%q: below 0", text)
			}
		})
	})
}
