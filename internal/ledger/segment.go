package ledger

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

const (
	segmentMagic  = "weirjrn1"
	segmentSuffix = ".seg"
	headerSize    = 64
)

// segment is one file of the journal. It covers the positions from base to end, including the header's bytes.
type segment struct {
	seq     uint64 // number of the file, ascending
	journal uuid.UUID
	epoch   uint64 // incremented at each start of the process
	base    Position
	prevEnd Position // end of the previous segment
	started time.Time
	first   bool // it begins its epoch

	end     Position  // after the last record; moves in the current segment
	applied time.Time // when the database was first seen past end; zero before
}

func (s *segment) name() string { return segmentName(s.seq) }

func segmentName(seq uint64) string { return fmt.Sprintf("%016d%s", seq, segmentSuffix) }

func (s *segment) header() []byte {
	b := make([]byte, headerSize)
	copy(b, segmentMagic)
	copy(b[8:], s.journal[:])
	binary.LittleEndian.PutUint64(b[24:], s.epoch)
	binary.LittleEndian.PutUint64(b[32:], uint64(s.base))
	binary.LittleEndian.PutUint64(b[40:], uint64(s.prevEnd))
	binary.LittleEndian.PutUint64(b[48:], uint64(s.started.UnixMicro()))
	if s.first {
		b[56] = 1
	}
	binary.LittleEndian.PutUint32(b[60:], crc32.Checksum(b[:60], castagnoli))
	return b
}

// parseHeader parses a header. It returns false for a reserved but unused file, and for a header that a power failure
// destroyed.
func parseHeader(b []byte) (s segment, ok bool) {
	if string(b[:8]) != segmentMagic || crc32.Checksum(b[:60], castagnoli) != binary.LittleEndian.Uint32(b[60:]) {
		return s, false
	}
	copy(s.journal[:], b[8:])
	s.epoch = binary.LittleEndian.Uint64(b[24:])
	s.base = Position(binary.LittleEndian.Uint64(b[32:]))
	s.prevEnd = Position(binary.LittleEndian.Uint64(b[40:]))
	s.started = time.UnixMicro(int64(binary.LittleEndian.Uint64(b[48:]))).UTC()
	s.first = b[56] == 1
	return s, true
}

// loadSegments reads the headers of all segments on the disk, oldest first, and finds their ends. It returns the names
// of reserved but unused files in spare.
func loadSegments(disk Disk) (segs []segment, spare []string, err error) {
	names, err := disk.List()
	if err != nil {
		return nil, nil, fmt.Errorf("list journal: %w", err)
	}
	for _, name := range names {
		seq, err := strconv.ParseUint(strings.TrimSuffix(name, segmentSuffix), 10, 64)
		if err != nil || !strings.HasSuffix(name, segmentSuffix) {
			continue
		}
		s, ok, err := readHeader(disk, name)
		if err != nil {
			return nil, nil, err
		}
		if !ok {
			spare = append(spare, name)
			continue
		}
		s.seq = seq
		segs = append(segs, s)
	}
	slices.SortFunc(segs, func(a, b segment) int { return int(int64(a.seq) - int64(b.seq)) })
	for i := range segs[:max(0, len(segs)-1)] {
		segs[i].end = segs[i+1].prevEnd
	}
	if n := len(segs); n > 0 {
		segs[n-1].end, err = findEnd(disk, &segs[n-1])
	}
	return segs, spare, err
}

func readHeader(disk Disk, name string) (s segment, ok bool, err error) {
	f, err := disk.Open(name)
	if err != nil {
		return s, false, fmt.Errorf("open journal segment: %w", err)
	}
	b := make([]byte, headerSize)
	n, err := f.ReadAt(b, 0)
	if cerr := f.Close(); n == headerSize {
		s, ok = parseHeader(b)
		return s, ok, cerr
	}
	if isEOF(err) {
		err = nil
	}
	return s, false, err
}

// findEnd returns the position after the last valid record of a segment.
func findEnd(disk Disk, s *segment) (end Position, err error) {
	f, err := disk.Open(s.name())
	if err != nil {
		return 0, fmt.Errorf("open journal segment: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := window{file: f, off: headerSize}
	for {
		_, _, n, err := w.frame()
		if err != nil {
			return 0, fmt.Errorf("read journal segment %s: %w", s.name(), err)
		}
		if n == 0 {
			return s.base + Position(w.off), nil
		}
		w.off += int64(n)
	}
}
