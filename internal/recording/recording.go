// Package recording measures the duration of recordings by the structure of their containers and the frames of their
// codecs.
package recording

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// Length is the duration of a recording, in milliseconds from 0 to 2^40.
type Length struct {
	// Told is the longest duration that the container states or its frames add up to: the best estimate.
	Told int64
	// Most is the longest duration that any decoder can produce, whatever the container states. It equals Told if
	// everything that decoders play could be counted.
	Most int64
}

const (
	longest = 1 << 40

	// usualRate is the usual minimum of bytes per second: 8 kbit/s, the lowest bit rate of MPEG audio (ISO/IEC 13818-3,
	// section 2.4.2.3).
	usualRate = 1000
	// leastRate is the lowest possible number of bytes per second of compressed audio: Ogg needs 3 bytes for 120 ms of
	// silence in Opus (RFC 6716, section 3.2.5; RFC 3533, section 6), ADTS 11 bytes for half a second in AAC.
	leastRate = 20
)

// Measure returns the duration of a recording: WAV, FLAC, Ogg, MP4 (M4A, QuickTime), Matroska (WebM), MPEG audio (MP3)
// or AAC in ADTS, each also after ID3 tags. It treats an unknown container as audio at the usual rate, and at the least
// rate for Most. It never fails, and runs in linear time.
func Measure(b []byte) Length {
	sound := behindTags(b)
	l := measurerOf(sound, len(sound) < len(b))(sound)
	if l.Most <= 0 && l.Told <= 0 { // it contains no known audio
		l.Most = lasting(b, leastRate)
	}
	if l.Told <= 0 {
		l.Told = min(lasting(b, usualRate), l.Most)
	}
	l.Told = min(l.Told, longest)
	l.Most = min(max(l.Most, l.Told), longest)
	return l
}

// topBoxes are the types of first boxes of MP4 and QuickTime files.
var topBoxes = []string{"ftyp", "styp", "moov", "moof", "mdat", "sidx", "free", "skip", "wide", "hoov", "pnot", "uuid"}

// measurerOf selects the measurement by the first bytes. After a tag, an unknown format is treated as MPEG audio.
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

// behindTags returns the bytes after ID3 tags (ID3v2.4.0, section 3.1: https://id3.org/id3v2.4.0-structure).
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

// lasting returns the duration of the bytes at rate bytes per second.
func lasting(b []byte, rate uint64) int64 { return scaled(uint64(len(b)), rate) }

// scaled returns the duration of n units at rate units per second, in milliseconds; 0 if rate is 0.
func scaled(n, rate uint64) int64 { return mulDiv(n, 1000, rate) }

// frames returns the duration of n frames with that many nanoseconds each, in milliseconds.
func frames(n, each uint64) int64 { return mulDiv(n, each, 1e6) }

// mulDiv returns a*b/c, at most longest; 0 if c is 0.
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

// nanoseconds returns the duration of n samples at that rate; 0 if rate is 0.
func nanoseconds(n, rate uint64) uint64 {
	if rate == 0 {
		return 0
	}
	return n * 1e9 / rate
}

// plausible returns the duration that a container states, reduced to the maximum for that many bytes.
func plausible(told int64, b []byte, rate uint64) int64 { return min(told, lasting(b, rate)) }

// reader reads big-endian numbers from the front of bytes. Past their end it reads zeros.
type reader []byte

// take returns the next n bytes, or fewer at the end.
func (r *reader) take(n uint64) []byte {
	n = min(n, uint64(len(*r)))
	b := (*r)[:n]
	*r = (*r)[n:]
	return b
}

// number returns the next number of n bytes, at most 8.
func (r *reader) number(n uint64) uint64 {
	var b [8]byte
	copy(b[8-n:], r.take(n))
	return binary.BigEndian.Uint64(b[:])
}

// wide returns the next number of 4 bytes, or of 8 in version 1.
func (r *reader) wide(version uint64) uint64 {
	if version == 1 {
		return r.number(8)
	}
	return r.number(4)
}
