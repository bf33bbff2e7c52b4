package quote

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Vocabularies may have a text normalized before they count its bytes: Qwen's in NFC, the one of Claude that is
// published in NFKC. What both make of most texts is no longer.

const (
	// mostNormalized is how many pieces of a text are normalized to find how long they become. It is no more than what
	// takes milliseconds.
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
	for range mostNormalized {
		body = body[norm.NFKC.QuickSpan(body):]
		if len(body) == 0 {
			return n
		}
		end := norm.NFKC.NextBoundary(body, true)
		n += gain(body[:end], end)
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
		r, err := strconv.ParseUint(string(body[at+2:at+escaped]), 16, 16)
		if err == nil && r >= utf8.RuneSelf {
			n += gain(utf8.AppendRune(nil, rune(r)), escaped)
		}
		body = body[at+2:]
	}
}

// gain is how many bytes more than it came in a piece of a text has when it is normalized.
func gain(piece []byte, came int) int64 {
	var room [64]byte
	nfc, nfkc := len(norm.NFC.Append(room[:0], piece...)), len(norm.NFKC.Append(room[:0], piece...))
	return int64(max(0, max(nfc, nfkc)-came))
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
