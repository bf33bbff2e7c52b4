package recording

import (
	"bytes"
	"encoding/binary"
)

// maxStreams bounds the tracks and streams of a file.
const maxStreams = 256

// oggStream is a stream in an Ogg file, from its first page on.
type oggStream struct {
	codec
	rate     uint64 // of its positions, in a second
	position uint64 // the last
	packets  uint64
	heard    uint64 // nanoseconds of Opus
}

// ogg measures an Ogg file (RFC 3533): Opus (RFC 7845), Vorbis and FLAC, by their positions and their packets. Streams
// follow one another or run side by side; all of them are added up.
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
	if pages != bytes.Count(b, []byte("OggS")) { // decoders find pages elsewhere, too
		l.Told, sure = max(l.Told, lasting(b, usualRate)), false
	}
	if !sure {
		l.Most = max(l.Most, lasting(b, leastRate))
	}
	return l
}

// oggPage is a page (RFC 3533, section 6).
type oggPage struct {
	size               int // as far as it is there
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

// oggStreamOf reads what is in a stream off its first page. Pictures are no sound.
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

// add takes note of the packets that begin on a page.
func (s *oggStream) add(p *oggPage) {
	if p.position != 1<<64-1 && !p.isFirst { // of no packet that ends here
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

// length is how long the stream is, in milliseconds.
func (s *oggStream) length(b []byte) (told, most int64) {
	told = plausible(scaled(s.position, s.rate), b, leastRate)
	switch s.kind {
	case opus:
		told = max(told, frames(s.heard, 1))
	case lossless:
		return told, 0 // all of its frames are added up at once
	case paced:
		told = max(told, frames(s.packets, s.least))
		most = frames(s.packets, s.each)
	}
	return told, max(told, most)
}
