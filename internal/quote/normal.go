package quote

import (
	"bytes"
	"encoding/hex"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A vocabulary may normalize a text before its bytes are counted: Qwen's to NFC, Claude's published one to NFKC. Most
// texts do not become longer.

const (
	// mostNormalized bounds the characters of a text that are examined, among those that normalization may change.
	mostNormalized = 64 << 10
	// mostLengthened is the largest growth factor of a character: U+FDFA grows from 3 to 33 bytes.
	mostLengthened = 11
	// escaped is the length of \uXXXX in bytes.
	escaped = 6
)

// lengthened returns an upper bound of the bytes that normalization adds to a body.
func lengthened(body []byte) int64 { return lengthenedPlain(body) + lengthenedEscapes(body) }

// lengthenedPlain does that for the unescaped characters of a body.
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

// lengthenedEscapes does that for the escaped characters of a body. A character of two escapes does not become longer
// than these.
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

// decomposed returns an upper bound of a character's bytes after normalization, also next to others: a composed form
// is not longer than its decomposition.
func decomposed(char []byte) int {
	canonical, compatible := norm.NFD.Properties(char).Decomposition(), norm.NFKD.Properties(char).Decomposition()
	return max(len(char), len(canonical), len(compatible))
}

// beyondASCII returns the number of bytes that are not ASCII.
func beyondASCII(text []byte) (n int64) {
	for _, b := range text {
		if b >= utf8.RuneSelf {
			n++
		}
	}
	return n
}
