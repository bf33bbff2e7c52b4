package contentlog

import (
	"bytes"
	"strconv"
)

const (
	// longest and shortest are the bounds of a string in a shortened text, in bytes. All strings of a text have the
	// same bound, so that the last message of a conversation is there as well as the first.
	longest  = 32 << 10
	shortest = 64
	bounds   = 10 // longest, half of it, and so on to shortest
	// ofMark is the length of the mark in place of the rest of a string, at most, in bytes.
	ofMark = 40
	// dataFrom is the length from which a string without spaces is data, such as an image, in bytes.
	dataFrom = 1 << 10
)

// shortened returns a copy of JSON with at most about most bytes, and whether something is left out. Long strings are
// cut first. If that is not enough, the JSON is cut off.
func shortened(text []byte, most int) (short []byte, cut bool) {
	if len(text) <= most {
		return bytes.Clone(text), false
	}
	bound := boundFor(text, most)
	short = make([]byte, 0, most)
	for len(text) > 0 && len(short) < most {
		between, whole, rest := nextString(text)
		text = rest
		if room := most + 1 - len(short); len(between) >= room {
			short = append(short, between[:room]...) // a list of numbers may be as long as the text
			break
		}
		short = append(short, between...)
		short = appendShort(short, whole, bound)
	}
	if len(short) > most {
		short = short[:withoutPart(short[:most], separators+`",`)]
	}
	return short, true
}

// boundFor returns the largest bound of strings with which a text has at most most bytes.
func boundFor(text []byte, most int) int {
	var sizes [bounds]int
	for len(text) > 0 {
		between, whole, rest := nextString(text)
		text = rest
		for i := range sizes {
			sizes[i] += len(between) + shortLen(whole, longest>>i)
		}
	}
	for i, size := range sizes {
		if size <= most {
			return longest >> i
		}
	}
	return shortest
}

// nextString returns the first string of a text, the text before it, and the rest. The string is empty if there is
// none.
func nextString(text []byte) (between, whole, rest []byte) {
	begin := bytes.IndexByte(text, '"')
	if begin < 0 {
		return text, nil, nil
	}
	end := begin + 1
	for end < len(text) && text[end] != '"' {
		if text[end] == '\\' {
			end++
		}
		end++
	}
	end = min(len(text), end+1)
	return text[:begin], text[begin:end], text[end:]
}

// shortLen returns the length that appendShort appends, at most.
func shortLen(whole []byte, bound int) int {
	switch {
	case isData(whole):
		return ofMark
	case len(whole) <= bound+ofMark:
		return len(whole)
	}
	return bound + ofMark
}

// isData reports whether a string is long and has no space at its start.
func isData(whole []byte) bool {
	return len(whole) > dataFrom && !bytes.ContainsAny(whole[:dataFrom], ` \`)
}

// appendShort appends a string, cut at a word if it is longer than the bound.
func appendShort(dst, whole []byte, bound int) []byte {
	data := isData(whole)
	if !data && len(whole) <= bound+ofMark {
		return append(dst, whole...)
	}
	kept := whole[:1]
	if !data {
		kept = whole[:max(1, escapesEnd(whole[:bound]))]
	}
	dst = append(append(dst, kept...), "…["...)
	dst = strconv.AppendInt(dst, int64(len(whole)-len(kept)-1), 10)
	return append(dst, ` bytes left out]"`...)
}

// separators end the words of a JSON string: the one before an escape ends at its backslash.
const separators = " \\"

// escapesEnd returns the end of the words of a JSON string that is cut there. It is not within an escape.
func escapesEnd(raw []byte) int { return withoutPart(raw, separators) }

// wordsEnd returns the end of the last but one word of a text.
func wordsEnd(text []byte) int { return withoutPart(text, " \t\r\n") }

// withoutPart returns the end of a text without its last word, and without the digits and hyphens before it, which may
// be a part of a longer number. If these belong to a word, such as a secret, that word is left out as well.
func withoutPart(text []byte, ends string) int {
	text = withoutWord(text, ends)
	rest := bytes.TrimRight(text, "0123456789 -")
	if len(bytes.TrimRight(text, " ")) > len(rest) {
		rest = withoutWord(rest, ends)
	}
	return len(rest)
}

// withoutWord returns a text without its last word and the separator before it.
func withoutWord(text []byte, ends string) []byte {
	text = text[:max(0, bytes.LastIndexAny(text, ends))]
	return bytes.TrimRight(text, "\\")
}
