package recording

import (
	"bytes"
	"math/bits"
)

// flac measures a FLAC file (RFC 9639) by its STREAMINFO block, section 8.2, in which a sample count of 0 means
// unknown, and by its frames.
func flac(b []byte) Length {
	rate, samples := flacInfo(b)
	heard := flacFrames(b, rate)
	told := max(heard, plausible(scaled(samples, rate), b, leastRate))
	if heard == 0 {
		return Length{Told: told, Most: lasting(b, leastRate)}
	}
	return Length{Told: told, Most: told}
}

// flacInfo returns the sample rate and the number of samples in the first STREAMINFO block of the bytes; 0 if there is
// none.
func flacInfo(b []byte) (rate, samples uint64) {
	i := bytes.Index(b, []byte("fLaC"))
	if i < 0 || len(b) < i+26 || b[i+4]&0x7f != 0 {
		return 0, 0
	}
	r := reader(b[i+18:])
	info := r.number(8)
	return info >> 44, info & (1<<36 - 1)
}

// flacFrames adds up the FLAC frames (RFC 9639, section 9) anywhere in the bytes, in milliseconds. Frames do not
// contain their length in bytes, so it tries every offset; the checksum of the header excludes false matches. Rate is
// that of STREAMINFO; 0 for none.
func flacFrames(b []byte, rate uint64) int64 {
	sums := crc8()
	micros := uint64(0)
	for {
		i := bytes.IndexByte(b, 0xff)
		if i < 0 {
			return int64(min(micros/1000, longest))
		}
		b = b[i:]
		samples, own, size := flacFrame(b, &sums)
		if size == 0 {
			b = b[1:]
			continue
		}
		if slow := slower(own, rate); slow > 0 {
			micros += samples * 1e6 / slow
		}
		b = b[size:]
	}
}

// slower returns the lower of two rates; 0 means unknown.
func slower(a, b uint64) uint64 {
	if a == 0 || b == 0 {
		return a + b
	}
	return min(a, b)
}

// flacRates are the sample rates in Hz with a code in a frame header (RFC 9639, section 9.1.2).
var flacRates = [12]uint64{0, 88200, 176400, 192000, 8000, 16000, 22050, 24000, 32000, 44100, 48000, 96000}

// flacFrame reads a frame header. It returns the samples, their rate per second (0 for that of STREAMINFO), and the
// size of the header; 0 if there is none.
func flacFrame(b []byte, sums *[256]byte) (samples, rate uint64, size int) {
	if len(b) < 6 || b[1]&0xfe != 0xf8 || b[3]&1 != 0 || b[3]>>4 > 10 {
		return 0, 0, 0
	}
	number := bits.LeadingZeros8(^b[4]) // bytes of the coded number; 0 for one byte
	if number == 1 || number > 7 {
		return 0, 0, 0
	}
	r := reader(b[4:])
	r.take(uint64(max(1, number)))
	switch code := uint64(b[2] >> 4); {
	case code == 0:
		return 0, 0, 0
	case code == 1:
		samples = 192
	case code < 6:
		samples = 144 << code
	case code < 8:
		samples = r.number(code-5) + 1
	default:
		samples = 1 << code
	}
	switch code := uint64(b[2] & 15); code {
	case 12:
		rate = 1000 * r.number(1)
	case 13:
		rate = r.number(2)
	case 14:
		rate = 10 * r.number(2)
	case 15:
		return 0, 0, 0
	default:
		rate = flacRates[code]
	}
	size = len(b) - len(r)
	if len(r) == 0 || r[0] != crcOf(b[:size], sums) {
		return 0, 0, 0
	}
	return samples, rate, size + 1
}

// crc8 returns the table of a frame header's checksum (RFC 9639, section 9.1.8).
func crc8() (sums [256]byte) {
	for i := range sums {
		c := byte(i)
		for range 8 {
			c = c<<1 ^ c>>7*7
		}
		sums[i] = c
	}
	return sums
}

func crcOf(b []byte, sums *[256]byte) (c byte) {
	for _, v := range b {
		c = sums[c^v]
	}
	return c
}
