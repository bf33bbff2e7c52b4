package recording

import "bytes"

// mpegFrame is a frame of MPEG audio or of AAC in ADTS.
type mpegFrame struct {
	size          int // in bytes, including the header; 0 if there is no frame
	samples, rate uint64
	kind          [3]byte // header bits that are equal in all frames of a stream
}

// mpeg measures MPEG audio of any layer (ISO/IEC 11172-3 and 13818-3) and AAC in ADTS (ISO/IEC 13818-7, section 6.2).
// Every decoder plays consecutive frames from the first byte on. Decoders differ in how they find frames after a gap or
// after a frame of another kind, so Most treats the rest as audio at the lowest bit rate of the codec.
func mpeg(b []byte) (l Length) {
	first := frameOf(b)
	chained, rest := uint64(0), b
	for len(rest) > 0 {
		f := frameOf(rest)
		if f.size == 0 || f.kind != first.kind {
			break
		}
		chained += nanoseconds(f.samples, f.rate)
		rest = rest[min(len(rest), f.size):]
	}
	least := uint64(usualRate)
	if first.size == 0 || first.kind[1]&6 == 0 { // no frame, or ADTS
		least = leastRate
	}
	l.Told = frames(chained+loose(rest), 1)
	l.Most = frames(chained, 1) + lasting(rest, least)
	if first.size > 0 {
		l.Told = max(l.Told, plausible(vbrLength(b, &first), b, least))
		even := frames(uint64(len(b)/first.size), nanoseconds(first.samples, first.rate)) // as some decoders compute it
		l.Most = max(l.Most, plausible(even, b, least))
	}
	return l
}

// loose adds up frames with gaps between them, in nanoseconds.
func loose(b []byte) (length uint64) {
	for len(b) > 0 {
		if f := frameOf(b); f.size > 0 {
			length += nanoseconds(f.samples, f.rate)
			b = b[min(len(b), f.size):]
			continue
		}
		next := bytes.IndexByte(b[1:], 0xff)
		if next < 0 {
			break
		}
		b = b[1+next:]
	}
	return length
}

// vbrLength returns the duration in a Xing, Info or VBRI header of the first frame, in milliseconds; 0 without one.
// These headers are not standardized: https://www.codeproject.com/Articles/8295/MPEG-Audio-Frame-Header.
func vbrLength(b []byte, first *mpegFrame) int64 {
	b = b[:min(len(b), first.size)]
	count := uint64(0)
	for _, name := range []string{"Xing", "Info"} {
		if i := bytes.Index(b, []byte(name)); i >= 0 && len(b) >= i+12 && b[i+7]&1 != 0 {
			r := reader(b[i+8:])
			count = max(count, r.number(4))
		}
	}
	if i := bytes.Index(b, []byte("VBRI")); i >= 0 && len(b) >= i+18 {
		r := reader(b[i+14:])
		count = max(count, r.number(4))
	}
	return frames(count, nanoseconds(first.samples, first.rate))
}

// These tables hold the bit rates of MPEG audio in thousands, by version (1, then 2 and 2.5) and layer (I to III), and
// its sample rates by the version's bits (ISO/IEC 11172-3, section 2.4.2.3; 13818-3, section 2.4.2.3).
var (
	mpegBits = [2][3][16]int{
		{
			{0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448},
			{0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384},
			{0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320},
		},
		{
			{0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256},
			{0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160},
			{0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160},
		},
	}
	mpegRates = [4][4]uint64{{11025, 12000, 8000}, {}, {22050, 24000, 16000}, {44100, 48000, 32000}}
)

// frameOf reads the header of the frame at the start of b.
func frameOf(b []byte) mpegFrame {
	if len(b) < 4 || b[0] != 0xff || b[1]&0xe0 != 0xe0 {
		return mpegFrame{}
	}
	kind := [3]byte{b[0], b[1] & 0xfe, b[2] & 0x0c}
	version, layer := b[1]>>3&3, 3-int(b[1]>>1&3)
	if layer == 3 {
		return adtsFrame(b)
	}
	low, samples := 1, uint64(1152)
	if version == 3 {
		low = 0
	}
	switch {
	case layer == 0:
		samples = 384
	case layer == 2 && low == 1:
		samples = 576
	}
	kbit, rate := mpegBits[low][layer][b[2]>>4], mpegRates[version][b[2]>>2&3]
	if kbit == 0 || rate == 0 {
		return mpegFrame{}
	}
	slot := 1
	if layer == 0 {
		slot = 4
	}
	size := (int(samples)/8/slot*kbit*1000/int(rate) + int(b[2]>>1&1)) * slot
	return mpegFrame{size, samples, rate, kind}
}

// aacRates are the sample rates in Hz with a code in MPEG-4 audio (ISO/IEC 14496-3, table 1.18).
var aacRates = [13]uint64{96000, 88200, 64000, 48000, 44100, 32000, 24000, 22050, 16000, 12000, 11025, 8000, 7350}

// adtsFrame reads an ADTS header. A frame has up to four blocks of 1,024 samples.
func adtsFrame(b []byte) mpegFrame {
	if len(b) < 7 || b[1]&0xf0 != 0xf0 || int(b[2]>>2&15) >= len(aacRates) {
		return mpegFrame{}
	}
	size := int(b[3]&3)<<11 | int(b[4])<<3 | int(b[5])>>5
	if size < 7 {
		return mpegFrame{}
	}
	return mpegFrame{size, 1024 * (1 + uint64(b[6]&3)), aacRates[b[2]>>2&15], [3]byte{b[0], b[1] & 0xfe, b[2] & 0x3c}}
}
