package recording_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"runtime"
	"slices"
	"testing"
	"time"

	"weir/internal/recording"

	"weir/internal/worktest"
)

// packed joins strings, bytes and numbers, which are big-endian.
func packed(parts ...any) []byte {
	var b bytes.Buffer
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			b.WriteString(p)
		case []byte:
			b.Write(p)
		default:
			_ = binary.Write(&b, binary.BigEndian, p)
		}
	}
	return b.Bytes()
}

// little encodes numbers as little-endian bytes.
func little(all ...any) []byte {
	var b bytes.Buffer
	for _, v := range all {
		_ = binary.Write(&b, binary.LittleEndian, v)
	}
	return b.Bytes()
}

// chunk builds a chunk of a WAVE file, with that size or, at -1, with its own.
func chunk(kind string, size int64, body []byte) []byte {
	if size < 0 {
		size = int64(len(body))
	}
	return packed(kind, little(uint32(size)), body, make([]byte, len(body)&1))
}

// format builds a "fmt " chunk.
func format(codec, channels uint16, rate, average uint32, block, bits uint16) []byte {
	return chunk("fmt ", -1, little(codec, channels, rate, average, block, bits))
}

// telephone returns the format of 8 kHz, 8 bits, mono: 8,000 bytes a second.
func telephone() []byte { return format(1, 1, 8000, 8000, 1, 8) }

func waveFile(magic string, chunks ...[]byte) []byte {
	return packed(magic, little(uint32(0)), "WAVE", slices.Concat(chunks...))
}

// box builds a box of an MP4 file.
func box(kind string, parts ...any) []byte {
	b := packed(parts...)
	return packed(uint32(len(b)+8), kind, b)
}

// movieHeader builds an "mvhd" or "mdhd" box of version 0.
func movieHeader(kind string, timescale, units uint32) []byte {
	return box(kind, uint32(0), uint64(0), timescale, units, make([]byte, 76))
}

// aac builds a track of AAC with that rate: the length in its headers, its samples, and the length of each.
func aac(handler string, rate, told, samples, each uint32) []byte {
	config := uint16(2<<11 | 4<<7 | 1<<3) // AAC-LC, 44.1 kHz, mono
	if rate == 8000 {
		config = 2<<11 | 11<<7 | 1<<3
	}
	esds := box("esds", uint32(0), "\x03\x80\x80\x80\x22\x00\x01\x00\x04\x80\x80\x80\x14\x40\x15", make([]byte, 11), "\x05\x80\x80\x80\x02", config, "\x06\x01\x02")
	entry := box("mp4a", make([]byte, 28), esds)
	return box("trak", box("tkhd", uint32(7), uint64(0), uint32(1), make([]byte, 68)), box(
		"mdia", movieHeader("mdhd", rate, told), box("hdlr", uint32(0), "\x00\x00\x00\x00", handler, make([]byte, 13)), box("minf", box("stbl",
			box("stsd", uint32(0), uint32(1), entry), box("stts", uint32(0), uint32(1), samples, each), box("stsz", uint32(0), uint32(0), samples, make([]byte, 4*min(samples, 4)))))))
}

// page builds a page of an Ogg file.
func page(flags byte, position uint64, serial uint32, packets ...[]byte) []byte {
	var sizes, body []byte
	for _, p := range packets {
		for n := len(p); ; n -= 255 {
			sizes = append(sizes, byte(min(n, 255)))
			if n < 255 {
				break
			}
		}
		body = append(body, p...)
	}
	return packed("OggS\x00", flags, little(position, serial, uint32(0), uint32(0)), byte(len(sizes)), sizes, body)
}

// opusFile builds a file of Opus packets of 60 ms, with that position at the end.
func opusFile(packets int, position uint64) []byte {
	file := slices.Concat(page(2, 0, 1, []byte("OpusHead")), page(0, 0, 1, []byte("OpusTags")))
	for packets > 0 {
		n := min(packets, 50)
		packets -= n
		file = append(file, page(0, position, 1, slices.Repeat([][]byte{append([]byte{3 << 3}, make([]byte, 99)...)}, n)...)...)
	}
	return file
}

// vorbisHead builds the identification header of Vorbis at that rate, with blocks of 256 and 2,048 samples.
func vorbisHead(rate uint32) []byte {
	return packed("\x01vorbis", little(uint32(0), uint8(1), rate, uint32(0), uint32(0), uint32(0), uint8(0xb8), uint8(1)))
}

// flacFile builds a file with that rate and number of samples in its head, and frames of 4,096 samples.
func flacFile(rate, samples uint64, frames int) []byte {
	file := packed("fLaC", []byte{0x80, 0, 0, 34}, make([]byte, 10), rate<<44|15<<36|samples, make([]byte, 16))
	for range frames {
		head := []byte{0xff, 0xf8, 0xc0, 0x08, 0x05}
		sum := byte(0)
		for _, v := range head {
			sum ^= v
			for range 8 {
				if sum&0x80 != 0 {
					sum = sum<<1 ^ 7
				} else {
					sum <<= 1
				}
			}
		}
		file = append(append(append(file, head...), sum), make([]byte, 994)...)
	}
	return file
}

// element builds an element of EBML, with a size of 8 bytes; unknown without a body.
func element(id string, body ...any) []byte {
	b := packed(body...)
	if body == nil {
		return packed(id, "\x01\xff\xff\xff\xff\xff\xff\xff")
	}
	return packed(id, uint64(1<<56|len(b)), b)
}

// webm builds a browser's recording, with frames of 60 ms of Opus, and that length in milliseconds in its head.
func webm(codec string, length float64, frames int) []byte {
	file := packed(element("\x1aE\xdf\xa3", "x"), element("\x18S\x80g"), element("\x15I\xa9f", element("\x2a\xd7\xb1", uint32(1_000_000)), element("\x44\x89", math.Float64bits(length))),
		element("\x16T\xaek", element("\xae", element("\xd7", "\x01"), element("\x83", "\x02"), element("\x86", codec))))
	for i := range frames {
		if i%50 == 0 {
			file = append(file, packed(element("\x1fC\xb6u"), element("\xe7", uint32(i*60)))...)
		}
		file = append(file, element("\xa3", "\x81", uint16(i%50*60), "\x80", []byte{3 << 3}, make([]byte, 99))...)
	}
	return file
}

// mp3Frame builds one of 128 kbit/s at 44.1 kHz: 417 bytes, 1,152 samples, 26 ms.
func mp3Frame() []byte { return append([]byte{0xff, 0xfb, 0x90, 0xc4}, make([]byte, 413)...) }

// xing builds such a frame with a header that claims that number.
func xing(frames uint32) []byte {
	b := mp3Frame()
	copy(b[21:], packed("Xing", uint32(1), frames))
	return b
}

// TestMeasureBoundsRecordings measures files of real recorders, and false ones. The bound includes the sound that
// decoders can play beyond the claimed length.
func TestMeasureBoundsRecordings(t *testing.T) {
	t.Parallel()
	sound := make([]byte, 12_000)
	adpcm := format(17, 1, 8000, 4000, 256, 4)
	moov := func(parts ...any) []byte { return box("moov", parts...) }
	ftyp, mdat := box("ftyp", "M4A ", uint32(0)), box("mdat", make([]byte, 100_000))
	ten := aac("soun", 44100, 441_000, 431, 1024)
	for _, tt := range []struct {
		name       string
		file       []byte
		told, most int64
	}{
		{"WAV", waveFile("RIFF", telephone(), chunk("data", -1, sound)), 1500, 1505},
		{"RF64", waveFile("RF64", chunk("ds64", -1, make([]byte, 28)), telephone(), chunk("data", 0xffffffff, sound)), 1500, 1510},
		{"BW64", waveFile("BW64", telephone(), chunk("data", -1, sound)), 1500, 1505},
		{"RIFX", packed("RIFX", uint32(0), "WAVEfmt ", uint32(16), []uint16{1, 1}, []uint32{8000, 8000}, []uint16{1, 8}, "data", uint32(12_000), sound), 1500, 1505},
		{"WAV that is live", waveFile("RIFF", telephone(), chunk("data", 0, sound)), 1500, 1505},
		{"WAV with two data chunks", waveFile("RIFF", telephone(), chunk("data", -1, []byte{1, 2}), chunk("data", -1, sound)), 1500, 1506},
		{"WAV with data in another chunk", waveFile("RIFF", telephone(), chunk("data", -1, []byte{1, 2}), chunk("junk", -1, sound)), 1506, 1506},
		{"WAV with two formats", waveFile("RIFF", format(1, 2, 48000, 192_000, 4, 16), telephone(), chunk("data", -1, sound)), 1500, 1508},
		{"WAV of a low rate", waveFile("RIFF", format(1, 1, 1, 1, 1, 8), chunk("data", -1, sound)), 12_000_000, 12_044_000},
		{"WAV of a false average", waveFile("RIFF", format(1, 1, 8000, 12_000_000, 1, 8), chunk("data", -1, sound)), 1500, 1505},
		{"WAV with MP3 as an extension", waveFile("RIFF", chunk("fmt ", -1, little(uint16(0xfffe), uint16(2), uint32(48000), uint32(16000), uint16(1), uint16(16), uint16(22), make([]byte, 6), uint16(0x55), make([]byte, 14))), chunk("data", -1, sound)), 750, 12_068},
		{"ADPCM", waveFile("RIFF", adpcm, chunk("data", -1, sound)), 3000, 12_044},
		{"ADPCM of a false average", waveFile("RIFF", format(17, 1, 8000, 6_000_000, 256, 4), chunk("data", -1, sound)), 187, 12_044},
		{"ADPCM with its samples", waveFile("RIFF", adpcm, chunk("fact", -1, little(uint32(32_000))), chunk("data", -1, sound)), 4000, 12_056},
		{"WAV without a format", waveFile("RIFF", chunk("data", -1, sound)), 12_020, 601_000},
		{"a tag alone", packed("ID3\x04\x00\x00\x00\x00\x4e\x10", make([]byte, 10_000)), 10_010, 500_500},

		{"FLAC", flacFile(44_100, 44*4096, 44), 4086, 4086},
		{"FLAC of an unknown length", flacFile(44_100, 0, 44), 4086, 4086},
		{"FLAC of a false length", flacFile(44_100, 1, 44), 4086, 4086},
		{"FLAC behind a tag", packed("ID3\x04\x00\x00\x00\x00\x01\x23", make([]byte, 163), flacFile(44_100, 0, 44)), 4086, 4086},
		{"FLAC without frames", packed(flacFile(44_100, 44_100, 0), sound), 1000, 602_100},

		{"Opus", opusFile(100, 288_000), 6000, 6000},
		{"Opus of a false position", opusFile(100, 48), 6000, 6000},
		{"Opus, two streams one after the other", packed(opusFile(100, 288_000), opusFile(50, 144_000)), 9000, 9000},
		{"Opus with pages in a page", packed(opusFile(1, 48), page(0, 48, 1, opusFile(80, 48)[:8000])), 8259, 412_950},
		{"Vorbis", packed(page(2, 0, 1, vorbisHead(22_050)), page(0, 22_050, 1, slices.Repeat([][]byte{make([]byte, 30)}, 30)...)), 1000, 1439},
		{"Vorbis of a false position", packed(page(2, 0, 1, vorbisHead(22_050)), page(0, 1, 1, slices.Repeat([][]byte{make([]byte, 30)}, 30)...)), 179, 1439},
		{"FLAC in Ogg", packed(page(2, 0, 1, packed("\x7fFLAC\x01\x00\x00\x01", flacFile(44_100, 0, 0))), page(0, 20_480, 1, flacFile(0, 0, 5)[42:])), 464, 464},
		{"Speex", packed(page(2, 0, 1, packed("Speex   ", make([]byte, 28), little(uint32(8000)))), page(0, 8000, 1, make([]byte, 70))), 1000, 8300},
		{"Ogg of another codec", packed(page(2, 0, 1, []byte("CELT    ")), page(0, 160, 1, make([]byte, 70))), 134, 6700},

		{"M4A", packed(ftyp, moov(movieHeader("mvhd", 600, 6000), ten), mdat), 10_007, 10_007},
		{"M4A, its movie last", packed(ftyp, mdat, moov(movieHeader("mvhd", 600, 6000), ten)), 10_007, 10_007},
		{"M4A behind a free box that lies", packed(ftyp, box("free", movieHeader("mvhd", 600, 1)), moov(movieHeader("mvhd", 600, 6000), ten), mdat), 10_007, 10_007},
		{"M4A of false headers", packed(ftyp, moov(movieHeader("mvhd", 600, 1), aac("soun", 44100, 1, 431, 1)), mdat), 9382, 10_007},
		{"M4A in a free box alone", packed(ftyp, box("free", movieHeader("mvhd", 600, 1), ten), mdat), 10_007, 10_007},
		{"M4A with two tracks", packed(ftyp, moov(movieHeader("mvhd", 600, 1), ten, aac("soun", 8000, 1, 431, 1)), mdat), 51_720, 55_168},
		{"M4A whose track says that it has pictures", packed(ftyp, moov(movieHeader("mvhd", 600, 600), aac("vide", 44100, 1, 431, 1)), mdat), 1000, 5_027_850},
		{"M4A of an unknown length", packed(ftyp, moov(movieHeader("mvhd", 600, 0xffffffff), ten), mdat), 10_007, 10_007},
		{"M4A in fragments", packed(ftyp, moov(movieHeader("mvhd", 600, 0), aac("soun", 44100, 0, 0, 0), box("mvex", box("trex", uint32(0), uint32(1), uint32(1), uint32(1024), uint64(0)))),
			bytes.Repeat(box("moof", box("traf", box("tfhd", uint32(0), uint32(1)), box("trun", uint32(0), uint32(43)))), 10), mdat), 9984, 9984},
		{"M4A in fragments that lie", packed(ftyp, moov(movieHeader("mvhd", 600, 0), aac("soun", 44100, 0, 0, 0)),
			bytes.Repeat(box("moof", box("traf", box("tfhd", uint32(8), uint32(1), uint32(1)), box("trun", uint32(0x100), uint32(43), make([]byte, 172)))), 10), mdat), 9360, 9984},
		{"M4A with an index", packed(ftyp, box("sidx", uint32(0), uint32(1), uint32(1000), uint64(0), uint16(0), uint16(2), uint32(100), uint32(7000), uint32(0), uint32(100), uint32(5000), uint32(0)), moov(ten), mdat), 12_000, 12_000},
		{"M4A of another codec", packed(ftyp, moov(movieHeader("mvhd", 600, 6000), bytes.ReplaceAll(ten, []byte("mp4a"), []byte("samr"))), mdat), 10_007, 5_027_850},

		{"WebM", webm("A_OPUS", 6000, 100), 6000, 6000},
		{"WebM that is live", webm("A_OPUS", 0, 100), 6000, 6000},
		{"WebM of a false length", webm("A_OPUS", 1, 100), 6000, 6000},
		{"WebM with clusters in another element", packed(webm("A_OPUS", 1, 1), element("\xec", webm("A_OPUS", 1, 100))), 11_749, 0},
		{"WebM of MPEG audio", webm("A_MPEG/L3", 1, 100), 5940, 10_000},
		{"WebM of another codec", webm("A_REAL/14_4", 1, 100), 5940, 0},

		{"MP3", bytes.Repeat(mp3Frame(), 40), 1044, 1044},
		{"MP3 behind a tag", packed("ID3\x04\x00\x00\x00\x00\x01\x00", make([]byte, 128), bytes.Repeat(mp3Frame(), 40)), 1044, 1044},
		{"MP3 with a Xing header", packed(xing(39), bytes.Repeat(mp3Frame(), 39)), 1044, 1044},
		{"MP3 with a Xing header that lies", packed(xing(1), bytes.Repeat(mp3Frame(), 39)), 1044, 1044},
		{"MP3 with a Xing header that says more", packed(xing(100), bytes.Repeat(mp3Frame(), 39)), 2612, 2612},
		{"MP3 with something between", packed(bytes.Repeat(mp3Frame(), 10), "\x00\xffTAG\xff", bytes.Repeat(mp3Frame(), 30)), 1044, 261 + 12_516},
		{"MP3 with frames in a frame of another rate", packed(mp3Frame(), []byte{0xff, 0xf3, 0xe8, 0xc4}, bytes.Repeat([]byte{0xff, 0xfb, 0x14, 0xc4}, 179)), 62, 26 + 720},
		{"MP2", bytes.Repeat(append([]byte{0xff, 0xfd, 0x80, 0}, make([]byte, 413)...), 40), 1044, 1044},
		{"AAC in ADTS", bytes.Repeat(append([]byte{0xff, 0xf1, 0x50, 0x80, 0x0c, 0x9f, 0xfc}, make([]byte, 93)...), 43), 998, 998},

		{"another container", packed("FORM____AIFF", make([]byte, 9988)), 10_000, 500_000},
		{"a byte", []byte("x"), 1, 50},
		{"nothing", nil, 0, 0},
	} {
		got := recording.Measure(tt.file)
		if tt.most == 0 {
			tt.most = int64(len(tt.file)) * 50
		}
		if want := (recording.Length{Told: tt.told, Most: tt.most}); got != want {
			t.Errorf("%s, %d bytes: got %+v, want %+v", tt.name, len(tt.file), got, want)
		}
	}
}

// recordings returns files of about that size that need the most work.
func recordings(size int) map[string][]byte {
	repeated := func(head []byte, part string) []byte {
		return append(slices.Clone(head), bytes.Repeat([]byte(part), size/len(part))...)
	}
	return map[string][]byte{
		"wav":         repeated([]byte("RIFF____WAVE"), "fmt "),
		"wav chunks":  repeated([]byte("RIFF____WAVE"), "data\x02\x00\x00\x00xx"),
		"flac":        repeated([]byte("fLaC"), "\xff\xf8\xc0\x08"),
		"flac frames": flacFile(44_100, 0, size/1000),
		"ogg":         repeated(nil, "OggS"),
		"ogg streams": repeated(nil, string(page(2, 0, 1, []byte("\x7fFLAC")))),
		"ogg vorbis":  repeated(nil, string(page(2, 0, 1, vorbisHead(1)))),
		"mp4":         repeated(box("ftyp", "M4A "), string(box("free"))),
		"mp4 tracks":  repeated(box("ftyp", "M4A "), string(aac("soun", 44100, 1, 1, 1))),
		"mp4 entries": packed(box("ftyp"), box("trak", box("stsd", uint64(1), repeated(nil, string(box("mp4a", "esdsesds")))))),
		"mp4 esds":    packed(box("ftyp"), box("moov", box("trak", box("stsd", uint64(1), box("mp4a", repeated(nil, "esds\x00\x00\x00\x00\x05\x02\x12\x08")))))),
		"mp4 esds in esds": packed(box("ftyp"), box("moov", box("trak", box("stsd", uint64(1), box("mp4a",
			repeated([]byte("esds\x00\x00\x00\x00"), "\x03\x00\x00\x00\x40\x08esds\x00\x00\x00\x00"), "\x04\x00\x40", make([]byte, 12), "\x05\x02\x12\x08"))))),
		"mp4 many tracks": repeated(box("ftyp", "M4A "), string(box("trak"))),
		"matroska":        repeated([]byte("\x1aE\xdf\xa3\x80"), "\xae\x80"),
		"matroska codec":  repeated([]byte("\x1aE\xdf\xa3\x80\xae\x80"), "\x86\x86A_FLAC"),
		"webm":            webm("A_OPUS", 0, size/110),
		"mp3":             repeated([]byte("\xff\xfb\x90\xc4"), "\xff\xfb\x00"),
		"mp3 frames":      repeated(nil, string(mp3Frame())),
	}
}

// TestMeasureIsLinear checks that sixteen times the bytes need at most forty times the work, unless they need less than
// a second. Quadratic time would be 256 times. The margin allows for other work on the machine.
func TestMeasureIsLinear(t *testing.T) {
	const size, times, most, tries = 256 << 10, 16, 40, 3
	work := func(b []byte) time.Duration {
		began := worktest.ProcessorTime()
		recording.Measure(b)
		return worktest.ProcessorTime() - began
	}
	large := recordings(times * size)
	for name, small := range recordings(size) {
		var one, many time.Duration
		for range tries {
			one, many = work(small), work(large[name])
			if many <= most*one || many <= time.Second {
				break
			}
		}
		if many > most*one && many > time.Second {
			t.Errorf("%s: %v for %d bytes, %v for %d", name, one, len(small), many, len(large[name]))
		}
	}
}

// TestMeasureKeepsLittle checks that measuring needs at most the recording's size of memory, and allocates at most
// twice that and a little.
func TestMeasureKeepsLittle(t *testing.T) {
	for name, b := range recordings(1 << 20) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		recording.Measure(b)
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; got > uint64(2*len(b)+64<<10) {
			t.Errorf("%s: %d bytes", name, got)
		}
	}
}

// FuzzMeasure checks that any bytes are measured, and that the bound is never below the estimate.
func FuzzMeasure(f *testing.F) {
	for _, b := range recordings(300) {
		f.Add(b)
	}
	f.Add(packed(box("ftyp", "M4A "), box("moov", movieHeader("mvhd", 600, 6000), aac("soun", 44100, 1, 4, 1024)), box("moof", box("traf", box("tfhd", uint32(8), uint32(1), uint32(1)), box("trun", uint32(0x100), uint32(1), uint32(1))))))
	f.Add(opusFile(3, 48))
	f.Add(webm("A_VORBIS", 1, 2))
	f.Add(xing(7))
	f.Fuzz(func(t *testing.T, b []byte) {
		worktest.Check(t, b, func(b []byte) { recording.Measure(b) })
		l := recording.Measure(b)
		if l.Told < 0 || l.Most < l.Told || l.Most > 1<<40 || len(b) >= 50 && l.Told == 0 && l.Most == 0 {
			t.Errorf("%d bytes: %+v", len(b), l)
		}
	})
}
