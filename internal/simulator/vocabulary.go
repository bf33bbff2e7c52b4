package simulator

import "strings"

// Every piece of the vocabularies, a word with the space before it or a mark, is exactly one token of OpenAI's
// o200k_base vocabulary, in any order. A test checks that.

// greeting opens the answer of the base model "chat", so that nobody mistakes it for the answer of a real model.
var greeting = []string{
	"Hello", "!", " This", " is", " a", " demo", ":", " the", " words", " are",
	" made", " up", ",", " and", " no", " model", " was", " asked", ".",
}

// telling opens the answer of the base model "story".
var telling = []string{
	"Once", " upon", " a", " time", ",", " in", " a", " story", " that", " no", " model", " wrote", ".",
}

// musing opens the thinking of the base model "reason".
var musing = []string{"Thinking", ":"}

// plainWords continue an answer.
var plainWords = spaced(`river water stone bridge stream lake rain cloud field forest
	meadow valley mill boat shore tide spring harbor winter summer morning evening garden
	window lantern paper letter story music quiet gentle bright clear deep slow steady
	warm cool small great old young green blue silver golden north south along under over
	between beyond around toward through again always often never perhaps soon today
	tomorrow and then while where when because flows rises falls turns carries keeps
	finds follows reaches opens listens waits rests grows shines moves sings lorem ipsum
	dolor sit amet reed willow current bank channel level measure gauge meter drop wave
	foam mist fog dew moss fern oak pine swallow fish trout`)

// foreignWords replace them with the option "unicode": each has two to nine bytes outside ASCII, which writes can
// split.
var foreignWords = spaced(`für más también été où año está días niño être à após não
	você então água só früh größer schön später вода после день зимой мост и через город
	水 河 日 我 时间 中国 日本 の مدينة ماء في من नदी पानी और है café ještě więcej się też
	będzie için çok güzel που και έχει ở là được không như một người`)

// spaced returns the words of the list, each with a space before it.
func spaced(list string) []string {
	words := strings.Fields(list)
	for i, w := range words {
		words[i] = " " + w
	}
	return words
}

// mix turns a number into one that looks random (the finalizer of SplitMix64,
// Steele and others 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// hash returns the FNV-1a hash of the texts, from a seed.
func hash(seed uint64, texts ...[]byte) uint64 {
	h := uint64(0xcbf29ce484222325) ^ mix(seed)
	for _, text := range texts {
		h = hashText(h, text)
	}
	return h
}

// hashText continues a hash.
func hashText[T string | []byte](h uint64, text T) uint64 {
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * 0x100000001b3
	}
	return (h ^ 0xff) * 0x100000001b3
}

// word returns the i-th word that a hash selects.
func word(words []string, h uint64, i int64) string {
	return words[mix(h+uint64(i))%uint64(len(words))]
}

// otherWord returns the i-th word that a hash selects in place of another word.
func otherWord(words []string, instead string, h uint64, i int64) string {
	k := mix(^h+uint64(i)) % uint64(len(words))
	for words[k] == instead {
		k = (k + 1) % uint64(len(words))
	}
	return words[k]
}

// splitWords splits a text into its words, each with the white space before it; joined they are the text again.
func splitWords(text string) []string {
	var pieces []string
	for text != "" {
		start := len(text) - len(strings.TrimLeft(text, " \t\r\n"))
		end := len(text)
		if i := strings.IndexAny(text[start:], " \t\r\n"); i >= 0 {
			end = start + i
		}
		pieces = append(pieces, text[:end])
		text = text[end:]
	}
	return pieces
}

// jsonPiece is the number of bytes of JSON text that count as one token.
const jsonPiece = 4

// splitJSON splits JSON text into pieces of about four bytes, never within a character.
func splitJSON(text string) []string {
	var pieces []string
	for text != "" {
		end := min(jsonPiece, len(text))
		for end < len(text) && text[end]&0xc0 == 0x80 {
			end++
		}
		pieces = append(pieces, text[:end])
		text = text[end:]
	}
	return pieces
}
