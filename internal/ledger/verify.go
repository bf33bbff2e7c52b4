package ledger

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/google/uuid"
)

// Identity is the id of the journal in dir; false when there is none.
func Identity(dir string) (id uuid.UUID, ok bool, err error) {
	if _, err := os.Stat(filepath.Join(dir, identityFile)); errors.Is(err, os.ErrNotExist) {
		return id, false, nil
	}
	id, err = identity(dir)
	return id, err == nil, err
}

// Written is the position behind everything that the journal in dir has for a
// database. It reads beside a running gateway.
func Written(dir string) (Position, error) {
	segs, _, err := loadSegments(Directory(dir))
	if err != nil {
		return 0, err
	}
	for i := len(segs) - 1; i >= 0; i-- {
		if s := &segs[i]; s.first || s.end > s.base+headerSize {
			return s.end, nil
		}
	}
	return 0, nil
}

// SegmentsFrom names the files of the journal in dir that have anything behind a position, and
// that of its identity. It reads beside a running gateway.
func SegmentsFrom(dir string, from Position) ([]string, error) {
	segs, _, err := loadSegments(Directory(dir))
	if err != nil {
		return nil, err
	}
	names := []string{identityFile}
	for i := range segs {
		if segs[i].end > from || i == len(segs)-1 {
			names = append(names, segs[i].name())
		}
	}
	return names, nil
}

// End is the last file of the journal in dir, and where in it the last record ends; empty for no journal.
func End(dir string) (last Extent, err error) {
	segs, _, err := loadSegments(Directory(dir))
	if err != nil || len(segs) == 0 {
		return last, err
	}
	s := &segs[len(segs)-1]
	return Extent{Segment: s.name(), Offset: int64(s.end - s.base)}, nil
}

// Backlog is what a journal has had for a database that does not have it.
type Backlog struct {
	Records int64    // kept: the gateway projects them when it runs
	Lost    Position // bytes that are not kept any more, and so can never be projected
}

// Unprojected is what the journal in dir has up to one position for a database
// that is at another. The begin of an epoch, which ends what a dead process left
// open, counts as a record. It reads beside a running gateway.
func Unprojected(dir string, from, to Position) (b Backlog, err error) {
	disk := Directory(dir)
	segs, _, err := loadSegments(disk)
	if err != nil || len(segs) == 0 {
		return b, err
	}
	b.Lost = max(0, segs[0].prevEnd-from)
	r := reader{journal: &Journal{disk: disk, segs: segs}, pos: from}
	defer func() { err = errors.Join(err, r.close()) }()
	for {
		rec, ok, err := r.next(to)
		if corrupt, is := errors.AsType[*CorruptError](err); is { // the projector leaves it out too
			r.seek(corrupt.To)
			continue
		}
		if err != nil || !ok {
			return b, err
		}
		if rec.kind != 0 || rec.epoch {
			b.Records++
		}
	}
}
