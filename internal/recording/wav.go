package recording

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// densest is the maximum number of bytes per second of compressed audio: 512 kbit/s.
const densest = 64_000

func isWAV(b []byte) bool {
	return slices.Contains([]string{"RIFF", "RIFX", "RF64", "BW64"}, string(b[:4])) && string(b[8:12]) == "WAVE"
}

// wav measures a WAVE file: RIFF (Multimedia Programming Interface and Data Specifications 1.0, IBM and Microsoft,
// 1991; RIFX has big-endian numbers), RF64 (EBU Tech 3306) and BW64 (ITU-R BS.2088). Decoders play all "data" chunks by
// one "fmt " chunk, but differ in the chunk that they choose. Told is the duration of the "data" chunks by the slowest
// "fmt " chunk, and Most that of the whole file.
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
		l.Told = max(l.Told, f.stated(sound, samples))
		l.Most = max(l.Most, f.most(uint64(len(b))))
	}
	return l
}

// wavSound returns the available bytes of the "data" chunks, and the number of their samples in the "fact" chunk. A
// "data" chunk without a size is a live recording, which extends to the end.
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

// wavFormat holds a "fmt " chunk: codec, channels, samples per second, bytes per second, bytes per block, and bits per
// sample.
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

// exact returns the bytes per second of uncompressed audio, as decoders compute them; 0 for other audio.
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

// stated returns the duration of n bytes. Samples is their number if they are compressed.
func (f *wavFormat) stated(n, samples uint64) int64 {
	if exact := f.exact(); exact > 0 {
		return scaled(n, exact)
	}
	return min(max(scaled(n, min(f.average, densest)), scaled(samples, f.samples)), f.most(n))
}

// most returns the longest duration of n bytes. Compressed audio has at least one bit per sample, or the usual lowest
// bit rate.
func (f *wavFormat) most(n uint64) int64 {
	if exact := f.exact(); exact > 0 {
		return max(scaled(n, exact), scaled(n, f.average), scaled(n, f.block*f.samples))
	}
	return max(scaled(n, usualRate), scaled(n*8, f.samples))
}
