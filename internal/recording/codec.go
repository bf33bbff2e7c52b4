package recording

import (
	"bytes"
	"encoding/binary"
)

// codec holds the properties of a codec that determine the duration of its frames.
type codec struct {
	// kind is opus, with durations in its frames; paced, with a maximum duration per frame; lossless, which is FLAC; or
	// foreign, with unknown durations.
	kind codecKind
	// each and least are the maximum and minimum nanoseconds per frame, if known.
	each, least uint64
}

type codecKind uint8

const (
	foreign codecKind = iota
	opus
	paced
	lossless
)

// opusMost is the maximum duration of an Opus packet, in nanoseconds (RFC 6716, section 3.2.5).
const opusMost = 120e6

// opusPacket returns the nanoseconds of an Opus packet, by its first bytes (RFC 6716, sections 3.1 and 3.2); 0 for an
// invalid one.
func opusPacket(b []byte) uint64 {
	if len(b) == 0 {
		return 0
	}
	var each uint64 // in half milliseconds
	switch config := b[0] >> 3; {
	case config < 12:
		each = [4]uint64{20, 40, 80, 120}[config&3]
	case config < 16:
		each = [2]uint64{20, 40}[config&1]
	default:
		each = 5 << (config & 3)
	}
	count := uint64(1)
	switch {
	case b[0]&3 == 3 && len(b) < 2:
		return 0
	case b[0]&3 == 3:
		count = uint64(b[1] & 0x3f)
	case b[0]&3 != 0:
		count = 2
	}
	if n := count * each * 5e5; n <= opusMost {
		return n
	}
	return 0
}

// vorbisCodec reads the first identification header in the bytes (Vorbis I specification, section 4.2.2). A packet has
// at most half the larger block in samples, and at least half the smaller one.
func vorbisCodec(b []byte) codec {
	i := bytes.Index(b, []byte("\x01vorbis"))
	if i < 0 || len(b) < i+29 {
		return codec{}
	}
	rate, sizes := uint64(binary.LittleEndian.Uint32(b[i+12:])), b[i+28]
	if rate == 0 {
		return codec{}
	}
	large, small := uint64(1)<<max(sizes>>4, sizes&15), uint64(1)<<min(sizes>>4, sizes&15)
	return codec{paced, nanoseconds(large/2, rate), nanoseconds(small/2, rate)}
}

// aacCodec reads an AudioSpecificConfig (ISO/IEC 14496-3, section 1.6.2.1). A frame has 1,024 samples, in some kinds of
// AAC up to 4,096.
func aacCodec(b []byte) codec {
	const tableless, plain, sbr, ps = 15, 4, 5, 29
	r := reader(b)
	config := r.number(8)
	kind := config >> 59
	config <<= 5
	if kind == 31 {
		kind = 32 + config>>58
		config <<= 6
	}
	rate, index := uint64(0), config>>60
	switch {
	case index == tableless:
		rate = config << 4 >> 40
	case index < uint64(len(aacRates)):
		rate = aacRates[index]
	}
	if kind == 0 || rate == 0 {
		return codec{}
	}
	if kind <= plain || kind == sbr || kind == ps {
		return codec{paced, nanoseconds(1024, rate), nanoseconds(960, rate)}
	}
	return codec{kind: paced, each: nanoseconds(4096, rate)}
}
