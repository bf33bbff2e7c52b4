package quote

import (
	"iter"
	"strings"
	"unicode"

	"github.com/tiktoken-go/tokenizer/codec"
)

// sharedVocabulary are how the names of models begin that count by the
// vocabulary which is here.
var sharedVocabulary = []string{"gpt-4o", "gpt-4.1", "gpt-4.5", "gpt-5", "gpt-oss", "chatgpt-4o", "o1", "o3", "o4"}

// sameVocabulary says whether a model counts by the vocabulary which is here. Its
// name may have a vendor before it.
func sameVocabulary(model string) bool {
	name := model[strings.LastIndexByte(model, '/')+1:]
	for _, prefix := range sharedVocabulary {
		if rest, ok := strings.CutPrefix(name, prefix); ok && (rest == "" || rest[0] == '-' || rest[0] == '.') {
			return true
		}
	}
	return false
}

// aroundText are the tokens by which a text can have more without its quotes:
// those join what they touch.
const aroundText = 4

// tokensAtMost is the most tokens that a text, as it stands in a body, can be.
//
// By the vocabulary which is here it is what is counted and an eighth, for what the vendor's own marks move, a few
// where the text meets its quotes, and what the escapes of JSON join. By another it is the bytes of the text: any word
// that is one token here may be one for each letter there. What lies beyond countAtMost counts by its bytes, too.
func tokensAtMost(text []byte, same bool) int64 {
	size := int64(len(text))
	if !same {
		return size
	}
	head := text[:min(len(text), countAtMost)]
	n, ok := countTokens(string(head))
	if !ok {
		return size
	}
	n += n/8 + aroundText + joined(head)
	return min(n, int64(len(head))) + size - int64(len(head))
}

// joined is how many tokens a text can have more without the escapes of JSON: they end in a character that what stands
// behind may be joined to, and not to the one that is meant. The ends of lines are joined to nothing.
func joined(text []byte) (n int64) {
	for i := 0; i+1 < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		i++
		switch text[i] {
		case 'n', 'r', 'u': // the last of which is more tokens by itself
		case 'b':
			n += 2
		default:
			n++
		}
	}
	return n
}

// longestBlank is how many characters of white space are counted in one piece. The pattern
// that parts a text looks through all that follows for each line break in it, in quadratic
// time; 256 KiB of them would take a minute.
const longestBlank = 256

// countTokens counts the tokens of a text by the o200k vocabulary, white space beyond
// longestBlank as if it were several texts, which may be some tokens more or less. It reports false where that cannot be.
func countTokens(text string) (tokens int64, ok bool) {
	vocabulary := codec.NewO200kBase() // not tokenizer.Get, by which the program has three vocabularies more: 5 MB
	for piece := range pieces(text) {
		n, err := vocabulary.Count(countable(piece))
		if err != nil {
			return 0, false
		}
		tokens += int64(n)
	}
	return tokens, true
}

// countable is a text with another control character for U+007F, which the library's pattern skips, so that it
// would count as no token. Both are a token of their own, and part of no other.
func countable(text string) string { return strings.ReplaceAll(text, "\x7f", "\x02") }

// pieces cuts a text within long white space, and nowhere else.
func pieces(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		from, blank := 0, 0
		for i, r := range text {
			if !unicode.IsSpace(r) {
				blank = 0
				continue
			}
			if blank++; blank > longestBlank {
				if !yield(text[from:i]) {
					return
				}
				from, blank = i, 1
			}
		}
		yield(text[from:])
	}
}
