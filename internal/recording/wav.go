package recording

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// densest is how many bytes a second of compressed sound has at most: 512 kbit/s.
const densest = 64_000

func isWAV(b []byte) bool {
	return slices.Contains([]string{"RIFF", "RIFX", "RF64", "BW64"}, string(b[:4])) && string(b[8:12]) == "WAVE"
}

// wav measures a WAVE file: RIFF (Multimedia Programming Interface and Data Specifications 1.0, IBM and Microsoft,
// 1991; RIFX has its numbers in big-endian order), RF64 (EBU Tech 3306) and BW64 (ITU-R BS.2088). Decoders play all
// "data" chunks, by one "fmt " chunk, and differ in which. Told is all that is in the former by the slowest of the
// latter, Most is the whole file by that.
func wav(b []byte) (l Length) {
	order := binary.ByteOrder(binary.LittleEndian)
	if string(b[:4]) == "RIFX" {
		order = binary.BigEndian
	}
	sound, samples := wavSound(b[12:], order)
	for rest := b[12:]; ; {
		i := bytes.Index(rest, []byte("fmt "))
		if i < 0 || len(rest) < i+24 {
			break
		}
		rest = rest[i+4:]
		f := wavFormatOf(rest[4:], order)
		l.Told = max(l.Told, f.told(sound, samples))
		l.Most = max(l.Most, f.most(uint64(len(b))))
	}
	return l
}

// wavSound is how many bytes are in the "data" chunks, as far as they are there, and how many samples the "fact" chunk
// says that these are. A "data" chunk without a size is a live recording, which goes on to the end.
func wavSound(b []byte, order binary.ByteOrder) (sound, samples uint64) {
	for len(b) >= 8 {
		size, isData := uint64(order.Uint32(b[4:])), string(b[:4]) == "data"
		if string(b[:4]) == "fact" && len(b) >= 12 {
			samples = max(samples, uint64(order.Uint32(b[8:])))
		}
		b = b[8:]
		if isData && (size == 0 || size == 0xffffffff) {
			size = uint64(len(b))
		}
		if isData {
			sound += min(size, uint64(len(b)))
		}
		size += size & 1
		b = b[min(size, uint64(len(b))):]
	}
	return sound, samples
}

// wavFormat is a "fmt " chunk: what codec there is, channels, samples a second, bytes a second, bytes of a block, and
// bits of a sample.
type wavFormat struct{ codec, channels, samples, average, block, bits uint64 }

func wavFormatOf(b []byte, order binary.ByteOrder) wavFormat {
	const extensible = 0xfffe
	word := func(at int) uint64 { return uint64(order.Uint16(b[at:])) }
	f := wavFormat{word(0), word(2), uint64(order.Uint32(b[4:])), uint64(order.Uint32(b[8:])), word(12), word(14)}
	if f.codec == extensible && len(b) >= 26 {
		f.codec = word(24)
	}
	return f
}

// exact is how many bytes a second there are of sound that is not compressed, as decoders compute it; 0 of other sound.
func (f *wavFormat) exact() uint64 {
	const pcm, float, aLaw, muLaw, extensible = 1, 3, 6, 7, 0xfffe
	switch f.codec {
	case pcm, float, extensible:
		return f.channels * f.samples * ((f.bits + 7) / 8)
	case aLaw, muLaw:
		return f.channels * f.samples
	}
	return 0
}

// told is how long n bytes are, of so many samples if they are compressed.
func (f *wavFormat) told(n, samples uint64) int64 {
	if exact := f.exact(); exact > 0 {
		return scaled(n, exact)
	}
	return min(max(scaled(n, min(f.average, densest)), scaled(samples, f.samples)), f.most(n))
}

// most is how long n bytes can last at most. Sound that is compressed has a bit for a sample, at least, or the lowest
// bit rate that is usual.
func (f *wavFormat) most(n uint64) int64 {
	if exact := f.exact(); exact > 0 {
		return max(scaled(n, exact), scaled(n, f.average), scaled(n, f.block*f.samples))
	}
	return max(scaled(n, usualRate), scaled(n*8, f.samples))
}
