package recording

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
	"strings"
)

// These are the Matroska elements that are read (RFC 9559, section 5.1).
const (
	idSegment     = 0x18538067
	idInfo        = 0x1549a966
	idScale       = 0x2ad7b1
	idDuration    = 0x4489
	idTracks      = 0x1654ae6b
	idTrack       = 0xae
	idTrackNumber = 0xd7
	idTrackType   = 0x83
	idCodec       = 0x86
	idPrivate     = 0x63a2
	idEncodings   = 0x6d80
	idCluster     = 0x1f43b675
	idTime        = 0xe7
	idSimpleBlock = 0xa3
	idBlockGroup  = 0xa0
	idBlock       = 0xa1
	idBlockLength = 0x9b
)

// track is a track of a Matroska file.
type track struct {
	number  uint64
	isSound bool
	name    string // of its codec
	private []byte
	encoded bool // its blocks are compressed or encrypted
}

// heardFrames sums up the frames of the tracks with one number.
type heardFrames struct {
	count, bytes uint64
	opus         uint64 // nanoseconds if they are Opus
}

// segment holds the data read from a Matroska file.
type segment struct {
	scale    uint64  // nanoseconds per time unit
	duration float64 // in time units
	time     uint64  // of the cluster, in time units
	start    uint64  // of the last block, in time units
	end      uint64  // latest end of a block, in time units
	clusters int
	tracks   []track
	heard    map[uint64]*heardFrames
	broken   bool
}

// matroska measures a Matroska or WebM file (RFC 9559; EBML is RFC 8794) by its stated duration, by the times of its
// blocks, and by the frames of its longest audio track. Recordings of browsers have neither a duration nor sizes.
func matroska(b []byte) Length {
	s := segment{scale: 1_000_000, heard: map[uint64]*heardFrames{}}
	for r := reader(b); len(r) > 0 && !s.broken; {
		s.element(&r)
	}
	length := mulDiv(max(s.end, uint64(min(max(0, s.duration), 1<<60))), s.scale, 1e6)
	l := Length{Told: plausible(length, b, leastRate)}
	sure := !s.broken
	if s.clusters != bytes.Count(b, []byte("\x1f\x43\xb6\x75")) { // decoders also find clusters at other offsets
		l.Told, sure = max(l.Told, lasting(b, usualRate)), false
	}
	sounds, hasFLAC, flacRate := false, false, uint64(0)
	for i := range s.tracks {
		t := &s.tracks[i]
		if !t.isSound && !strings.HasPrefix(t.name, "A_") {
			continue
		}
		sounds = true
		if t.name == "A_FLAC" && !t.encoded {
			rate, _ := flacInfo(t.private)
			hasFLAC, flacRate = true, slower(flacRate, rate)
			continue
		}
		told, most, known := s.length(t)
		l.Told, l.Most, sure = max(l.Told, told), max(l.Most, most), sure && known
	}
	if hasFLAC {
		heard := flacFrames(b, flacRate)
		l.Told, sure = max(l.Told, heard), sure && heard > 0
	}
	if !sure || !sounds {
		l.Most = max(l.Most, lasting(b, leastRate))
	}
	return l
}

// length returns the duration of a track's frames in milliseconds, and whether all of them are known.
func (s *segment) length(t *track) (told, most int64, known bool) {
	h := s.heard[t.number]
	if h == nil {
		return 0, 0, true
	}
	c := codec{}
	switch {
	case t.encoded:
	case t.name == "A_OPUS":
		return frames(h.opus, 1), frames(h.opus, 1), true
	case t.name == "A_VORBIS":
		c = vorbisCodec(t.private)
	case strings.HasPrefix(t.name, "A_AAC"):
		c = aacCodec(t.private)
	case strings.HasPrefix(t.name, "A_MPEG/"):
		return 0, scaled(h.bytes, usualRate), true
	}
	return frames(h.count, c.least), frames(h.count, c.each), c.kind == paced
}

// element reads the next element; of a parent element only its header.
func (s *segment) element(r *reader) {
	id, _ := vint(r, true)
	size, isKnown := vint(r, false)
	switch id {
	case idSegment, idInfo, idTracks, idBlockGroup:
		return
	case idCluster:
		s.clusters++
		return
	case idTrack:
		s.broken = s.broken || len(s.tracks) == maxStreams
		s.tracks = append(s.tracks, track{})
		return
	}
	s.broken = s.broken || id == 0 || !isKnown
	s.value(id, r.take(size))
}

// value records an element without children.
func (s *segment) value(id uint64, b []byte) {
	if len(s.tracks) > 0 {
		s.tracks[len(s.tracks)-1].value(id, b)
	}
	switch id {
	case idScale:
		s.scale = max(s.scale, unsigned(b))
	case idDuration:
		s.duration = max(s.duration, float(b))
	case idTime:
		s.time = unsigned(b)
	case idBlockLength:
		s.end = max(s.end, s.start+unsigned(b))
	case idSimpleBlock, idBlock:
		s.block(b)
	}
}

func (t *track) value(id uint64, b []byte) {
	switch id {
	case idTrackNumber:
		t.number = unsigned(b)
	case idTrackType:
		t.isSound = unsigned(b) == 2
	case idCodec:
		t.name = strings.TrimRight(string(b[:min(len(b), 64)]), "\x00")
	case idPrivate:
		t.private = b
	case idEncodings:
		t.encoded = true
	}
}

// block records a block (RFC 9559, section 10): its track number, its time and its frames. It does not read the lengths
// of laced frames.
func (s *segment) block(b []byte) {
	r := reader(b)
	number, _ := vint(&r, false)
	time := int16(r.number(2))
	flags := r.number(1)
	s.start = s.time + uint64(max(0, time))
	s.end = max(s.end, s.start)
	h := s.heard[number]
	if h == nil {
		if len(s.heard) == maxStreams {
			s.broken = true
			return
		}
		h = &heardFrames{}
		s.heard[number] = h
	}
	h.bytes += uint64(len(r))
	if flags&6 == 0 {
		h.count++
		h.opus += opusPacket(r)
		return
	}
	laced := r.number(1) + 1
	h.count += laced
	h.opus += laced * opusMost
}

// vint reads a variable-size integer (RFC 8794, section 4). If marked, the result includes the marker bits, as in an
// id. It is unknown if all data bits are ones.
func vint(r *reader, marked bool) (n uint64, isKnown bool) {
	if len(*r) == 0 || (*r)[0] == 0 {
		*r = nil
		return 0, false
	}
	size := uint64(bits.LeadingZeros8((*r)[0])) + 1
	n = r.number(size)
	if marked {
		return n, true
	}
	mask := uint64(1)<<(7*size) - 1
	return n & mask, n&mask != mask
}

// unsigned returns the value of an unsigned integer, at most 2^60.
func unsigned(b []byte) uint64 {
	r := reader(b[:min(len(b), 8)])
	return min(r.number(uint64(len(r))), 1<<60)
}

// float returns the value of a float element (RFC 8794, section 7.3); 0 if it is not a number.
func float(b []byte) float64 {
	f := 0.0
	switch len(b) {
	case 4:
		f = float64(math.Float32frombits(binary.BigEndian.Uint32(b)))
	case 8:
		f = math.Float64frombits(binary.BigEndian.Uint64(b))
	}
	if math.IsNaN(f) {
		return 0
	}
	return f
}
