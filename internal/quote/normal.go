package quote

import (
	"bytes"
	"encoding/hex"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Vocabularies may have a text normalized before they count its bytes: Qwen's in NFC, the one of Claude that is
// published in NFKC. What both make of most texts is no longer.

const (
	// mostNormalized is how many characters of a text are looked at to find how long it becomes, of those that
	// normalizing may change.
	mostNormalized = 64 << 10
	// mostLengthened is how many times its length a character has at most: U+FDFA becomes 33 bytes from 3.
	mostLengthened = 11
	// escaped is how many bytes \uXXXX has.
	escaped = 6
)

// lengthened is how many bytes a body gains at most when its texts are normalized.
func lengthened(body []byte) int64 { return lengthenedPlain(body) + lengthenedEscapes(body) }

// lengthenedPlain is lengthened of the characters that stand in a body as they are.
func lengthenedPlain(body []byte) (n int64) {
	for left := mostNormalized; left > 0; {
		body = body[norm.NFKC.QuickSpan(body):]
		if len(body) == 0 {
			return n
		}
		end := norm.NFKC.NextBoundary(body, true)
		most := 0
		for piece := body[:end]; len(piece) > 0; left-- {
			_, size := utf8.DecodeRune(piece)
			most += decomposed(piece[:size])
			piece = piece[size:]
		}
		n += int64(max(0, most-end))
		body = body[end:]
	}
	return n + (mostLengthened-1)*beyondASCII(body)
}

// lengthenedEscapes is lengthened of the characters of a body that are escaped. Those of two escapes have more bytes
// there than they can get.
func lengthenedEscapes(body []byte) (n int64) {
	for {
		at := bytes.Index(body, []byte(`\u`))
		if at < 0 || len(body) < at+escaped {
			return n
		}
		var unit [2]byte
		_, err := hex.Decode(unit[:], body[at+2:at+escaped])
		if r := rune(unit[0])<<8 | rune(unit[1]); err == nil && r >= utf8.RuneSelf {
			var room [utf8.UTFMax]byte
			n += int64(max(0, decomposed(utf8.AppendRune(room[:0], r))-escaped))
		}
		body = body[at+2:]
	}
}

// decomposed is how many bytes a character has at most when it is normalized, alone or beside others: what normal forms
// compose is no longer than what they decompose it to.
func decomposed(char []byte) int {
	canonical, compatible := norm.NFD.Properties(char).Decomposition(), norm.NFKD.Properties(char).Decomposition()
	return max(len(char), len(canonical), len(compatible))
}

// beyondASCII is how many bytes of a text are no ASCII.
func beyondASCII(text []byte) (n int64) {
	for _, b := range text {
		if b >= utf8.RuneSelf {
			n++
		}
	}
	return n
}
