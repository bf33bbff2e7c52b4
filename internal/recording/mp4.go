package recording

import (
	"bytes"
	"slices"
)

// maxDepth is the maximum depth of boxes that is read, and maxConfigs the maximum number of "esds" boxes of a sample
// entry.
const (
	maxDepth   = 10
	maxConfigs = 16
)

// trak holds a track of an MP4 file, or its fragments.
type trak struct {
	id, timescale, units uint64 // units is the duration in units of timescale
	samples              uint64
	codec                codec // the slowest
	isSilent             bool  // it contains only pictures or texts
}

// movie holds the data read from an MP4 file.
type movie struct {
	b         []byte
	told      int64
	timescale uint64
	traks     []trak
	fragments map[uint64]*trak // by track id
	indexed   map[uint64]int64 // milliseconds in segment indexes, by track id
	fragment  *trak            // the fragment being read
	byDefault map[uint64]uint64
	every     uint64 // default units per sample of the fragment
	broken    bool
}

// mp4 measures an MP4, M4A or QuickTime file (ISO/IEC 14496-12), with or without fragments, by the boxes "mvhd",
// "mdhd", "stts", "mehd", "sidx" and "trun", and by the samples of its longest audio track. It also reads free boxes,
// because some decoders treat them as "moov" if that is missing.
func mp4(b []byte) Length {
	m := movie{b: b, fragments: map[uint64]*trak{}, indexed: map[uint64]int64{}, byDefault: map[uint64]uint64{}}
	m.boxes(b, 0)
	l := Length{}
	for _, ms := range m.indexed {
		m.told = max(m.told, ms)
	}
	sounds := false
	samples, each := uint64(0), uint64(0)
	for i := range m.traks {
		t := &m.traks[i]
		if f := m.fragments[t.id]; f != nil {
			t.units, t.samples = t.units+f.units, t.samples+f.samples
		}
		m.told = max(m.told, scaled(t.units, t.timescale))
		if t.isSilent {
			continue
		}
		sounds = sounds || t.samples > 0
		m.broken = m.broken || t.codec.kind != paced
		samples, each = max(samples, t.samples), max(each, t.codec.each)
		l.Told = max(l.Told, frames(t.samples, t.codec.least))
	}
	l.Told = max(l.Told, plausible(m.told, b, leastRate))
	l.Most = frames(samples, each)
	if m.broken || !sounds {
		l.Most = max(l.Most, lasting(b, leastRate))
	}
	return l
}

// boxes reads consecutive boxes (ISO/IEC 14496-12, section 4.2).
func (m *movie) boxes(b []byte, depth int) {
	for len(b) >= 8 {
		r := reader(b)
		size, kind := r.number(4), string(r.take(4))
		if size == 1 {
			size = r.number(8)
		}
		if head := uint64(len(b) - len(r)); size >= head {
			m.box(kind, r.take(size-head), depth)
		} else if size == 0 { // extends to the end
			m.box(kind, r, depth)
			return
		} else {
			return
		}
		b = r
	}
}

// box reads one box and its children.
func (m *movie) box(kind string, b []byte, depth int) {
	if depth > maxDepth {
		return
	}
	switch kind {
	case "trak":
		if len(m.traks) == maxStreams {
			m.broken = true
			return
		}
		m.traks = append(m.traks, trak{})
	case "traf":
		m.fragment, m.every = nil, 0
	case "moov", "mdia", "minf", "stbl", "mvex", "moof", "free", "skip", "wide", "hoov":
	case "cmov": // compressed
		m.broken = true
	default:
		m.leaf(kind, b)
		return
	}
	m.boxes(b, depth+1)
}

// leaf reads a box without children.
func (m *movie) leaf(kind string, b []byte) {
	r := reader(b)
	version, flags := r.number(1), r.number(3)
	switch kind {
	case "mvhd":
		units, timescale := header(&r, version)
		m.timescale = timescale
		m.told = max(m.told, scaled(units, timescale))
	case "mehd":
		m.told = max(m.told, scaled(r.wide(version), m.timescale))
	case "sidx":
		m.index(&r, version)
	case "trex":
		id := r.number(4)
		r.take(4)
		if len(m.byDefault) < maxStreams {
			m.byDefault[id] = max(m.byDefault[id], r.number(4))
		}
	case "tfhd":
		m.fragmentOf(&r, flags)
	case "trun":
		m.run(&r, flags)
	default:
		if len(m.traks) > 0 {
			m.traks[len(m.traks)-1].leaf(kind, b)
		}
	}
}

// header returns the duration in units of the timescale from "mvhd" or "mdhd"; 0 if unknown.
func header(r *reader, version uint64) (units, timescale uint64) {
	r.wide(version)
	r.wide(version)
	timescale = r.number(4)
	if units = r.wide(version); units == 1<<64-1 || version == 0 && units == 1<<32-1 {
		units = 0
	}
	return units, timescale
}

func (t *trak) leaf(kind string, b []byte) {
	const most = 1 << 62
	r := reader(b)
	version := r.number(4) >> 24
	switch kind {
	case "tkhd":
		r.wide(version)
		r.wide(version)
		t.id = r.number(4)
	case "mdhd":
		units, timescale := header(&r, version)
		t.units, t.timescale = max(t.units, units), timescale
	case "hdlr":
		r.take(4)
		if kind := string(r.take(4)); kind == "vide" || kind == "soun" {
			t.isSilent = kind == "vide"
		}
	case "stts":
		units := uint64(0)
		r.take(4)
		for len(r) >= 8 {
			units += min(r.number(4)*r.number(4), most)
			units = min(units, most)
		}
		t.units = max(t.units, units)
	case "stsz", "stz2":
		r.take(4)
		t.samples = max(t.samples, r.number(4))
	case "stsd":
		t.describe(&r)
	}
}

// describe reads the codecs of a track from the sample entries (ISO/IEC 14496-12, section 12.2.3).
func (t *trak) describe(r *reader) {
	r.take(4)
	sounds := false
	for len(*r) >= 8 {
		size := r.number(4)
		if size < 8 {
			break
		}
		entry := reader(r.take(size - 4))
		kind := string(entry.take(4))
		if slices.Contains(textEntries, kind) {
			continue
		}
		c := entryCodec(kind, entry)
		if !sounds {
			sounds, t.codec = true, c
		}
		t.codec = codec{min(t.codec.kind, c.kind), max(t.codec.each, c.each), min(t.codec.least, c.least)}
	}
	t.isSilent = t.isSilent || !sounds
}

// textEntries are the formats of sample entries of texts and timecodes, such as chapters and subtitles.
var textEntries = []string{"text", "tx3g", "tmcd", "mebx", "wvtt", "stpp", "c608"}

// entryCodec returns the codec of a sample entry of that format.
func entryCodec(kind string, b []byte) codec {
	each := uint64(0)
	switch kind {
	case "mp4a":
		return esdsCodec(b)
	case "Opus":
		return codec{paced, opusMost, opusMost / 48}
	case "alac": // https://github.com/macosforge/alac/blob/master/ALACMagicCookieDescription.txt
		if i := bytes.Index(b, []byte("alac")); i >= 0 && len(b) >= i+32 {
			cookie := reader(b[i+8:])
			samples := cookie.number(4)
			cookie.take(16)
			each = nanoseconds(samples, cookie.number(4))
		}
	case "sowt", "twos", "in24", "in32", "fl32", "fl64", "ulaw", "alaw", "raw ", "ipcm", "fpcm":
		r := reader(b)
		r.take(24)
		each = nanoseconds(1, r.number(2)) // a sample includes all channels
	}
	if each == 0 {
		return codec{}
	}
	return codec{paced, each, each}
}

// esdsCodec returns the slowest codec in the "esds" boxes of an MPEG-4 sample entry (ISO/IEC 14496-14, section 6.7),
// which decoders search for in several places. An entry with more than maxConfigs boxes is unknown, because reading
// each could take time in proportion to the remaining bytes.
func esdsCodec(b []byte) (slowest codec) {
	for range maxConfigs {
		i := bytes.Index(b, []byte("esds"))
		if i < 0 {
			return slowest
		}
		b = b[i+4:]
		c := descriptors(b)
		if c.kind != paced {
			return codec{}
		}
		if c.each > slowest.each {
			slowest = c
		}
	}
	return codec{}
}

// descriptors reads the descriptors of an "esds" box (ISO/IEC 14496-1, section 7.2.6).
func descriptors(b []byte) codec {
	const stream, config, specific = 3, 4, 5
	r := reader(b)
	r.take(4) // version and flags
	for len(r) > 0 {
		tag := r.number(1)
		size := uint64(0)
		for range 4 {
			part := r.number(1)
			size = size<<7 | part&0x7f
			if part&0x80 == 0 {
				break
			}
		}
		switch tag {
		case stream:
			r.take(2)
			flags := r.number(1)
			if flags&0x80 != 0 {
				r.take(2)
			}
			if flags&0x40 != 0 {
				r.take(r.number(1))
			}
			if flags&0x20 != 0 {
				r.take(2)
			}
		case config:
			switch r.number(1) {
			case 0x40, 0x66, 0x67, 0x68: // AAC
			default:
				return codec{}
			}
			r.take(12)
		case specific:
			return aacCodec(r.take(size))
		default:
			return codec{}
		}
	}
	return codec{}
}

// index reads a segment index (ISO/IEC 14496-12, section 8.16.3). It skips references to other indexes, which are read
// themselves.
func (m *movie) index(r *reader, version uint64) {
	id, timescale := r.number(4), r.number(4)
	r.wide(version)
	r.wide(version)
	r.take(4)
	units := uint64(0)
	for len(*r) >= 12 {
		toIndex, length := r.number(4)>>31 == 1, r.number(4)
		r.take(4)
		if !toIndex {
			units += length
		}
	}
	if len(m.indexed) < maxStreams {
		m.indexed[id] = min(longest, m.indexed[id]+scaled(units, timescale))
	}
}

// fragmentOf reads the header of a track fragment (ISO/IEC 14496-12, section 8.8.7).
func (m *movie) fragmentOf(r *reader, flags uint64) {
	id := r.number(4)
	if m.fragment = m.fragments[id]; m.fragment == nil {
		if len(m.fragments) == maxStreams {
			m.broken = true
			return
		}
		m.fragment = &trak{}
		m.fragments[id] = m.fragment
	}
	m.every = m.byDefault[id]
	if flags&1 != 0 {
		r.take(8)
	}
	if flags&2 != 0 {
		r.take(4)
	}
	if flags&8 != 0 {
		m.every = r.number(4)
	}
}

// run reads the samples of a fragment (ISO/IEC 14496-12, section 8.8.8).
func (m *movie) run(r *reader, flags uint64) {
	if m.fragment == nil {
		m.broken = true
		return
	}
	count := r.number(4)
	m.fragment.samples += count
	if flags&0x100 == 0 {
		m.fragment.units = min(m.fragment.units+min(count*m.every, 1<<62), 1<<62)
		return
	}
	for _, flag := range []uint64{1, 4} {
		if flags&flag != 0 {
			r.take(4)
		}
	}
	beside := uint64(0)
	for _, flag := range []uint64{0x200, 0x400, 0x800} {
		if flags&flag != 0 {
			beside += 4
		}
	}
	for ; count > 0 && len(*r) > 0; count-- {
		m.fragment.units += r.number(4)
		r.take(beside)
	}
}
