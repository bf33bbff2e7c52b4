package ledger

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/google/uuid"
)

// Identity returns the id of the journal in dir; false if there is none.
func Identity(dir string) (id uuid.UUID, ok bool, err error) {
	if _, err := os.Stat(filepath.Join(dir, identityFile)); errors.Is(err, os.ErrNotExist) {
		return id, false, nil
	}
	id, err = identity(dir)
	return id, err == nil, err
}

// Written returns the position after the last record of the journal in dir that a database has to apply. It may run
// while a gateway writes the journal.
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

// SegmentsFrom returns the names of the identity file and of the journal files in dir that contain records after a
// position. It may run while a gateway writes the journal.
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

// End returns the last file of the journal in dir and the offset after its last record; empty if there is no journal.
func End(dir string) (last Extent, err error) {
	segs, _, err := loadSegments(Directory(dir))
	if err != nil || len(segs) == 0 {
		return last, err
	}
	s := &segs[len(segs)-1]
	return Extent{Segment: s.name(), Offset: int64(s.end - s.base)}, nil
}

// Backlog describes the records of a journal that a database has not applied.
type Backlog struct {
	Records int64    // retained: the gateway projects them when it runs
	Lost    Position // deleted bytes, which can never be projected
}

// Unprojected returns the records of the journal in dir between two positions, which a database has not applied. The
// start of an epoch, which ends the attempts that a dead process left open, counts as a record. It may run while a
// gateway writes the journal.
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
		if corrupt, is := errors.AsType[*CorruptError](err); is { // the projector skips it too
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
