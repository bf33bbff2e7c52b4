// Package recording measures how long recordings are, by the structure of their containers and the frames of their
// codecs.
package recording

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// Length is how long a recording is, in milliseconds from 0 to 2^40.
type Length struct {
	// Told is the longest that its container says and that its frames add up to: the best estimate.
	Told int64
	// Most is the longest that any decoder can make of it, whatever its container says. It is Told where all that
	// decoders play could be counted.
	Most int64
}

const (
	longest = 1 << 40

	// usualRate is how many bytes a second a recording has at least, as a rule: 8 kbit/s, the lowest bit rate of MPEG
	// audio (ISO/IEC 13818-3, section 2.4.2.3).
	usualRate = 1000
	// leastRate is how few bytes a second compressed sound can have: Ogg takes 3 bytes for 120 ms of silence in Opus
	// (RFC 6716, section 3.2.5; RFC 3533, section 6), ADTS 11 bytes for half a second in AAC.
	leastRate = 20
)

// Measure measures a recording: WAV, FLAC, Ogg, MP4 (M4A, QuickTime), Matroska (WebM), MPEG audio (MP3) and AAC in
// ADTS, each behind ID3 tags, too. Another container is taken for sound at the usual rate, and at the least rate for
// Most. It never fails, and takes time in proportion to the bytes.
func Measure(b []byte) Length {
	sound := behindTags(b)
	l := measurerOf(sound, len(sound) < len(b))(sound)
	if l.Most <= 0 && l.Told <= 0 { // nothing was found in it
		l.Most = lasting(b, leastRate)
	}
	if l.Told <= 0 {
		l.Told = min(lasting(b, usualRate), l.Most)
	}
	l.Told = min(l.Told, longest)
	l.Most = min(max(l.Most, l.Told), longest)
	return l
}

// topBoxes are the types of boxes that MP4 and QuickTime files begin with.
var topBoxes = []string{"ftyp", "styp", "moov", "moof", "mdat", "sidx", "free", "skip", "wide", "hoov", "pnot", "uuid"}

// measurerOf finds how to measure a recording by its first bytes. Behind a tag, what is nothing else is MPEG audio.
func measurerOf(b []byte, tagged bool) func([]byte) Length {
	switch {
	case len(b) < 12:
		return unknown
	case isWAV(b):
		return wav
	case string(b[:4]) == "fLaC":
		return flac
	case string(b[:4]) == "OggS":
		return ogg
	case string(b[:4]) == "\x1aE\xdf\xa3":
		return matroska
	case slices.Contains(topBoxes, string(b[4:8])):
		return mp4
	case tagged, b[0] == 0xff && b[1]&0xe0 == 0xe0:
		return mpeg
	}
	return unknown
}

func unknown(b []byte) Length { return Length{Most: lasting(b, leastRate)} }

// behindTags is what stands behind ID3 tags (ID3v2.4.0, section 3.1: https://id3.org/id3v2.4.0-structure).
func behindTags(b []byte) []byte {
	for len(b) >= 10 && string(b[:3]) == "ID3" && (b[6]|b[7]|b[8]|b[9])&0x80 == 0 {
		size := 10 + (int(b[6])<<21 | int(b[7])<<14 | int(b[8])<<7 | int(b[9]))
		if b[5]&0x10 != 0 { // a footer
			size += 10
		}
		b = b[min(len(b), size):]
	}
	return b
}

// lasting is how long so many bytes last, of which rate are a second.
func lasting(b []byte, rate uint64) int64 { return scaled(uint64(len(b)), rate) }

// scaled is n units of which rate are a second, in milliseconds; 0 where the rate is.
func scaled(n, rate uint64) int64 { return mulDiv(n, 1000, rate) }

// frames is how long n frames are that have so many nanoseconds each, in milliseconds.
func frames(n, each uint64) int64 { return mulDiv(n, each, 1e6) }

// mulDiv is a*b/c, at most longest; 0 where c is.
func mulDiv(a, b, c uint64) int64 {
	hi, lo := bits.Mul64(a, b)
	switch {
	case c == 0:
		return 0
	case hi >= c:
		return longest
	}
	q, _ := bits.Div64(hi, lo, c)
	return int64(min(q, longest))
}

// nanoseconds is how long n samples are at that rate; 0 where the rate is.
func nanoseconds(n, rate uint64) uint64 {
	if rate == 0 {
		return 0
	}
	return n * 1e9 / rate
}

// plausible is a length that a container tells, if so many bytes can last so long, or how long they can.
func plausible(told int64, b []byte, rate uint64) int64 { return min(told, lasting(b, rate)) }

// reader takes numbers in big-endian order off the front of bytes. Beyond their end it reads zeros.
type reader []byte

// take is the next n bytes; fewer where there are fewer.
func (r *reader) take(n uint64) []byte {
	n = min(n, uint64(len(*r)))
	b := (*r)[:n]
	*r = (*r)[n:]
	return b
}

// number is the next number of n bytes, of 8 at most.
func (r *reader) number(n uint64) uint64 {
	var b [8]byte
	copy(b[8-n:], r.take(n))
	return binary.BigEndian.Uint64(b[:])
}

// wide is the next number of 4 bytes, or of 8 in version 1.
func (r *reader) wide(version uint64) uint64 {
	if version == 1 {
		return r.number(8)
	}
	return r.number(4)
}
