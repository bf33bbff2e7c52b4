package recording

import (
	"bytes"
	"encoding/binary"
)

// maxStreams bounds the tracks and streams of a file.
const maxStreams = 256

// oggStream is a stream in an Ogg file, beginning with its first page.
type oggStream struct {
	codec
	rate     uint64 // position units per second
	position uint64 // the last position
	packets  uint64
	heard    uint64 // nanoseconds of Opus
}

// ogg measures an Ogg file (RFC 3533) with Opus (RFC 7845), Vorbis or FLAC by positions and packets. Streams may be
// consecutive or parallel; it adds up all of them.
func ogg(b []byte) (l Length) {
	streams := map[uint32]*oggStream{}
	pages, sure := 0, true
	hasFLAC, flacRate := false, uint64(0)
	ended := func(s *oggStream) {
		told, most := s.length(b)
		l.Told, l.Most, sure = l.Told+told, l.Most+most, sure && s.kind != foreign
		if s.kind == lossless {
			hasFLAC, flacRate = true, slower(flacRate, s.rate)
		}
	}
	for rest := b; ; {
		i := bytes.Index(rest, []byte("OggS"))
		if i < 0 || len(rest) < i+27 {
			break
		}
		rest = rest[i:]
		pages++
		p := oggPageOf(rest)
		rest = rest[p.size:]
		s := streams[p.serial]
		switch {
		case p.isFirst && len(streams) < maxStreams:
			if s != nil {
				ended(s)
			}
			s = oggStreamOf(p.body)
			streams[p.serial] = s
		case s == nil:
			sure = false
			continue
		}
		s.add(&p)
	}
	for _, s := range streams {
		ended(s)
	}
	if hasFLAC {
		heard := flacFrames(b, flacRate)
		l.Told, l.Most, sure = max(l.Told, heard), l.Most+heard, sure && heard > 0
	}
	if pages != bytes.Count(b, []byte("OggS")) { // decoders also find pages at other offsets
		l.Told, sure = max(l.Told, lasting(b, usualRate)), false
	}
	if !sure {
		l.Most = max(l.Most, lasting(b, leastRate))
	}
	return l
}

// oggPage is a page (RFC 3533, section 6).
type oggPage struct {
	size               int // available bytes
	serial             uint32
	position           uint64
	isFirst, continued bool
	sizes, body        []byte
}

func oggPageOf(b []byte) oggPage {
	p := oggPage{
		serial: binary.LittleEndian.Uint32(b[14:]), position: binary.LittleEndian.Uint64(b[6:]),
		isFirst: b[5]&2 != 0, continued: b[5]&1 != 0,
	}
	r := reader(b[27:])
	p.sizes = r.take(uint64(b[26]))
	sum := uint64(0)
	for _, n := range p.sizes {
		sum += uint64(n)
	}
	p.body = r.take(sum)
	p.size = len(b) - len(r)
	return p
}

// oggStreamOf reads the type of a stream from its first page. Video is not audio.
func oggStreamOf(b []byte) *oggStream {
	is := func(magic string) bool { return bytes.HasPrefix(b, []byte(magic)) }
	switch {
	case is("OpusHead"):
		return &oggStream{codec: codec{kind: opus}, rate: 48_000} // RFC 7845, section 4
	case is("\x01vorbis"):
		s := &oggStream{codec: vorbisCodec(b)}
		if s.kind == paced {
			s.rate = uint64(binary.LittleEndian.Uint32(b[12:]))
		}
		return s
	case is("\x7fFLAC"):
		rate, _ := flacInfo(b)
		return &oggStream{codec: codec{kind: lossless}, rate: rate}
	case is("Speex   ") && len(b) >= 40:
		return &oggStream{rate: uint64(binary.LittleEndian.Uint32(b[36:]))}
	case is("\x80theora"), is("fishead"):
		return &oggStream{codec: codec{kind: paced}}
	}
	return &oggStream{}
}

// add records the packets that begin on a page.
func (s *oggStream) add(p *oggPage) {
	if p.position != 1<<64-1 && !p.isFirst { // -1 if no packet ends here
		s.position = max(s.position, p.position)
	}
	body, begins := reader(p.body), !p.continued
	for _, n := range p.sizes {
		part := body.take(uint64(n))
		if begins {
			s.packets++
			s.heard += opusPacket(part)
		}
		begins = n < 255
	}
}

// length returns the duration of the stream, in milliseconds.
func (s *oggStream) length(b []byte) (told, most int64) {
	told = plausible(scaled(s.position, s.rate), b, leastRate)
	switch s.kind {
	case opus:
		told = max(told, frames(s.heard, 1))
	case lossless:
		return told, 0 // the caller adds up all FLAC frames at once
	case paced:
		told = max(told, frames(s.packets, s.least))
		most = frames(s.packets, s.each)
	}
	return told, max(told, most)
}
