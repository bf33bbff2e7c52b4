package openai

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// unknownRate is how many bytes a second of a recording has at least, whose
// length nobody can read off it: no one sends speech more densely packed.
const unknownRate = 1000

// densestSound is how many bytes a second of compressed sound has at most: 512
// kbit/s, which Opus cannot reach.
const densestSound = 64_000

// milliseconds is how long a recording is, as its container says: WAV, FLAC,
// Ogg with Opus or Vorbis, MP4 (M4A) and MP3. Of another one, and of one that
// lies, it is the most that so many bytes can be. What decoders pass over is
// believed no further than sound can be dense: whoever is charged wrote it.
func milliseconds(b []byte) int64 {
	most := int64(len(b)) * 1000 / unknownRate
	ms := int64(0)
	switch {
	case len(b) < 12:
	case string(b[:4]) == "RIFF" && string(b[8:12]) == "WAVE":
		ms = wavLength(b[12:])
	case string(b[:4]) == "fLaC":
		ms = flacLength(b[4:])
	case string(b[:4]) == "OggS":
		ms = max(oggLength(b), int64(len(b))*1000/densestSound)
	case string(b[4:8]) == "ftyp":
		ms = mp4Length(b)
	case b[0] == 0xff && b[1]&0xe0 == 0xe0, string(b[:3]) == "ID3":
		ms = mp3Length(b)
	}
	if ms <= 0 || ms > most {
		return most
	}
	return ms
}

// scaled is n units of which rate are a second, in milliseconds; 0 for none.
func scaled(n, rate uint64) int64 {
	hi, lo := bits.Mul64(n, 1000)
	if rate == 0 || hi >= rate {
		return 0
	}
	q, _ := bits.Div64(hi, lo, rate)
	return int64(min(q, maxCount))
}

// wavLength reads the chunks of a WAV file behind its head: bytes a second from
// "fmt ", how many there are from "data", as far as they are there.
func wavLength(b []byte) int64 {
	var rate uint64
	for len(b) >= 8 {
		size := uint64(binary.LittleEndian.Uint32(b[4:]))
		kind, rest := string(b[:4]), b[8:]
		switch {
		case kind == "fmt " && len(rest) >= 16:
			rate = wavRate(rest)
		case kind == "data":
			return scaled(min(size, uint64(len(rest))), rate) // a live recording has no size
		}
		size += size & 1
		if size >= uint64(len(rest)) {
			return 0
		}
		b = rest[size:]
	}
	return 0
}

// wavRate is the bytes a second of a format. Of sound that is not compressed
// they follow from what decoders obey.
func wavRate(format []byte) uint64 {
	const pcm, float, extensible = 1, 3, 0xfffe
	word := func(at int) uint64 { return uint64(binary.LittleEndian.Uint16(format[at:])) }
	second := func(at int) uint64 { return uint64(binary.LittleEndian.Uint32(format[at:])) }
	switch word(0) {
	case pcm, float, extensible:
		channels, samples, bits := word(2), second(4), word(14)
		return channels * samples * ((bits + 7) / 8)
	}
	return min(second(8), densestSound)
}

// flacLength reads the STREAMINFO block (RFC 9639, section 8.2). The same sound
// without compression takes no less.
func flacLength(b []byte) int64 {
	if len(b) < 22 || b[0]&0x7f != 0 {
		return 0
	}
	info := binary.BigEndian.Uint64(b[14:])
	rate, channels, bits := info>>44, info>>41&7+1, info>>36&31+1
	return max(scaled(info&(1<<36-1), rate), scaled(uint64(len(b)), rate*channels*((bits+7)/8)))
}

// oggLength reads the position of the last page (RFC 3533, section 6): in
// samples, of which Opus always has 48,000 a second (RFC 7845, section 4).
func oggLength(b []byte) int64 {
	rate := uint64(48_000)
	if i := bytes.Index(b[:min(len(b), 4096)], []byte("\x01vorbis")); i >= 0 && len(b) >= i+16 {
		rate = uint64(binary.LittleEndian.Uint32(b[i+12:]))
	}
	last := bytes.LastIndex(b, []byte("OggS"))
	if last < 0 || len(b) < last+14 {
		return 0
	}
	return scaled(binary.LittleEndian.Uint64(b[last+6:]), rate)
}

// mp4Length reads the movie header (ISO/IEC 14496-12, section 8.2.2).
func mp4Length(b []byte) int64 {
	i := bytes.Index(b, []byte("mvhd"))
	if i < 0 || len(b) < i+36 {
		return 0
	}
	b = b[i+4:]
	if b[0] == 1 {
		return scaled(binary.BigEndian.Uint64(b[24:]), uint64(binary.BigEndian.Uint32(b[20:])))
	}
	return scaled(uint64(binary.BigEndian.Uint32(b[16:])), uint64(binary.BigEndian.Uint32(b[12:])))
}

// The rates of MPEG audio, layer III (ISO/IEC 11172-3, section 2.4.2.3): bits
// in thousands a second by version, samples a second by version.
var (
	mp3Bits = [2][16]int{
		{0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 0},
		{0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160, 0},
	}
	mp3Samples = [4][4]uint64{{11025, 12000, 8000}, {}, {22050, 24000, 16000}, {44100, 48000, 32000}}
)

// mp3Length adds up the frames, and passes over what stands between them as
// decoders do.
func mp3Length(b []byte) int64 {
	if string(b[:3]) == "ID3" {
		size := int(b[6])<<21 | int(b[7])<<14 | int(b[8])<<7 | int(b[9])
		b = b[min(len(b), size+10):]
	}
	var length uint64 // in nanoseconds
	for len(b) >= 4 {
		size, samples, rate := mp3Frame(b)
		if size == 0 {
			next := bytes.IndexByte(b[1:], 0xff)
			b = b[1+max(next, 0):]
			if next < 0 {
				break
			}
			continue
		}
		length += samples * 1e9 / rate
		b = b[min(len(b), size):]
	}
	return int64(length / 1e6)
}

// mp3Frame is the bytes of a frame, its samples, and their rate; 0 where there
// is none.
func mp3Frame(b []byte) (size int, samples, rate uint64) {
	version, layer := b[1]>>3&3, b[1]>>1&3
	if b[0] != 0xff || b[1]&0xe0 != 0xe0 || version == 1 || layer != 1 {
		return 0, 0, 0
	}
	low, perFrame := 1, uint64(576)
	if version == 3 {
		low, perFrame = 0, 1152
	}
	kbit, rate := mp3Bits[low][b[2]>>4], mp3Samples[version][b[2]>>2&3]
	if kbit == 0 || rate == 0 {
		return 0, 0, 0
	}
	size = int(perFrame)/8*kbit*1000/int(rate) + int(b[2]>>1&1)
	return size, perFrame, rate
}
