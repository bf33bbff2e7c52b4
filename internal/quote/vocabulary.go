package quote

import (
	"iter"
	"strings"
	"unicode"

	"github.com/tiktoken-go/tokenizer/codec"
)

// sharedVocabulary are the prefixes of the names of models that count by the vocabulary of this package.
var sharedVocabulary = []string{"gpt-4o", "gpt-4.1", "gpt-4.5", "gpt-5", "gpt-oss", "chatgpt-4o", "o1", "o3", "o4"}

// sameVocabulary reports whether a model counts by the vocabulary of this package. Its name may begin with a vendor.
func sameVocabulary(model string) bool {
	name := model[strings.LastIndexByte(model, '/')+1:]
	for _, prefix := range sharedVocabulary {
		if rest, ok := strings.CutPrefix(name, prefix); ok && (rest == "" || rest[0] == '-' || rest[0] == '.') {
			return true
		}
	}
	return false
}

// aroundText is the number of tokens that a text can gain without its quotes, because these join adjacent characters.
const aroundText = 4

// tokensAtMost returns an upper bound of the tokens of a text in its form in a body.
//
// With the vocabulary of this package it is the count plus an eighth, for the effect of the vendor's own marks, a few
// tokens at its quotes, and those that the escapes of JSON join. With another one it is the number of bytes: a word
// that is one token here may be one per letter there. Text beyond countAtMost counts by its bytes, too.
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

// joined returns the number of tokens that a text can gain without the escapes of JSON: an escape ends in a character
// that can join the text after it, while the character that it stands for cannot. Line ends join nothing.
func joined(text []byte) (n int64) {
	for i := 0; i+1 < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		i++
		switch text[i] {
		case 'n', 'r', 'u': // \u itself takes more tokens
		case 'b':
			n += 2
		default:
			n++
		}
	}
	return n
}

// longestBlank bounds the characters of white space that are counted in one piece. The pattern that splits a text
// reads all that follows for each line break, in quadratic time; 256 KiB of them would take a minute.
const longestBlank = 256

// countTokens counts the tokens of a text by the o200k vocabulary. It splits white space longer than longestBlank,
// which changes the count by a few tokens. It reports false if the count fails.
func countTokens(text string) (tokens int64, ok bool) {
	vocabulary := codec.NewO200kBase() // tokenizer.Get would link three more vocabularies: 5 MB
	for piece := range pieces(text) {
		n, err := vocabulary.Count(countable(piece))
		if err != nil {
			return 0, false
		}
		tokens += int64(n)
	}
	return tokens, true
}

// countable replaces U+007F by another control character, because the library's pattern skips it and would count no
// token. Both are a token of their own and part of no other.
func countable(text string) string { return strings.ReplaceAll(text, "\x7f", "\x02") }

// pieces splits a text only within long white space.
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
