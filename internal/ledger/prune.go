package ledger

import (
	"errors"
	"slices"
	"time"
)

// covered returns the segments that may be deleted: the database has had them for an hour, or there are too many.
func (j *Journal) covered(done Position, now time.Time) []segment {
	j.mu.Lock()
	defer j.mu.Unlock()
	var old []segment
	for i := range j.segs[:len(j.segs)-1] {
		s := &j.segs[i]
		if s.end > done {
			s.applied = time.Time{} // the database may have gone back
			continue
		}
		if s.applied.IsZero() {
			s.applied = now
		}
		if now.Sub(s.applied) >= keepApplied || len(j.segs)-i > keepSegments {
			old = append(old, *s)
		}
	}
	return old
}

// remove deletes segments, oldest first.
func (j *Journal) remove(old []segment) error {
	var errs error
	for i := range old {
		if err := j.disk.Remove(old[i].name()); err != nil {
			errs = errors.Join(errs, err)
			break
		}
		j.mu.Lock()
		j.segs = slices.DeleteFunc(j.segs, func(s segment) bool { return s.seq == old[i].seq })
		j.mu.Unlock()
	}
	return errs
}
