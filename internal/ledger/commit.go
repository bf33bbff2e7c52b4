package ledger

import (
	"fmt"
	"runtime"
)

// Append writes records and returns the position after them. It returns when they are written, or in strict mode when
// they are synced. If fewer than keep bytes of reserved space would remain, it writes nothing and returns ErrFull.
func (j *Journal) Append(records []byte, keep int64) (Position, error) {
	j.mu.Lock()
	if err := j.admit(int64(len(records)), keep); err != nil {
		j.mu.Unlock()
		return 0, err
	}
	g, behind := j.join(records)
	if !j.leading {
		j.leading = true
		j.mu.Unlock()
		runtime.Gosched() // let other ready goroutines join the group
		at, err := j.lead(g)
		return at + behind, err
	}
	if g.turn == nil {
		g.turn = make(chan struct{}, 1)
	}
	j.mu.Unlock()
	if _, leads := <-g.turn; leads {
		_, _ = j.lead(g)
	}
	return g.at + behind, g.err
}

// admit returns an error if n bytes may not be written. The caller holds j.mu.
func (j *Journal) admit(n, keep int64) error {
	if j.failed != nil {
		return j.failed
	}
	cur := &j.segs[len(j.segs)-1]
	room := j.segmentSize - int64(cur.end-cur.base) - j.queued
	if j.spare != nil {
		room += j.segmentSize - headerSize
	}
	if keep > 0 && room < n+keep {
		return ErrFull
	}
	return nil
}

// reserveSpace returns an error if fewer than keep bytes of reserved space are left.
func (j *Journal) reserveSpace(keep int64) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.admit(0, keep)
}

// join adds records to the group that is written next, and returns the offset in the group at which they end.
func (j *Journal) join(records []byte) (g *group, behind Position) {
	if j.pending == nil {
		if j.pending, j.spent = j.spent, nil; j.pending == nil {
			j.pending = &group{}
		}
		if n := len(j.buffers); n > 0 {
			j.pending.buf, j.buffers = j.buffers[n-1][:0], j.buffers[:n-1]
		}
	}
	j.pending.buf = append(j.pending.buf, records...)
	j.queued += int64(len(records))
	return j.pending, Position(len(j.pending.buf))
}

// lead writes group g, returns its position, and passes the lead to the group that formed in the meantime. It first
// closes g to new records. The group of a lone leader is used again, so that only lead may read it.
func (j *Journal) lead(g *group) (at Position, err error) {
	j.mu.Lock()
	j.pending = nil
	j.mu.Unlock()

	at, err = j.write(g.buf)
	g.at, g.err = at, err

	j.mu.Lock()
	defer j.mu.Unlock()
	j.queued -= int64(len(g.buf))
	if cap(g.buf) <= keepBuffer && len(j.buffers) < 2 {
		j.buffers = append(j.buffers, g.buf)
	}
	if next := j.pending; next != nil {
		next.turn <- struct{}{}
	} else {
		j.leading = false
	}
	if g.turn != nil {
		close(g.turn)
	} else {
		*g = group{}
		j.spent = g
	}
	return at, err
}

// write writes one group into the current segment, or into the next one if it does not fit, and returns the position at
// which the group begins. Only the leader calls it.
func (j *Journal) write(buf []byte) (Position, error) {
	j.point("journal.before_write")
	j.mu.Lock()
	cur := j.segs[len(j.segs)-1]
	file := j.file
	j.mu.Unlock()
	if int64(cur.end-cur.base)+int64(len(buf)) > j.segmentSize {
		next, nextFile, err := j.rotate(&cur)
		if err != nil {
			return 0, err
		}
		cur, file = next, nextFile
	}
	if _, err := file.WriteAt(buf, int64(cur.end-cur.base)); err != nil {
		return 0, fmt.Errorf("write journal: %w", err) // the next write goes to the same position
	}
	end := cur.end + Position(len(buf))
	j.mu.Lock()
	j.segs[len(j.segs)-1].end = end
	j.mu.Unlock()
	j.written.Store(int64(end))
	j.point("journal.after_write")
	if j.strict {
		return cur.end, j.Sync()
	}
	signal(j.dirty)
	return cur.end, nil
}

// rotate replaces the current segment with the spare one.
func (j *Journal) rotate(cur *segment) (segment, File, error) {
	next := segment{
		seq: cur.seq + 1, journal: j.id, epoch: cur.epoch, started: j.now().UTC(),
		base: cur.end, prevEnd: cur.end, end: cur.end + headerSize,
	}
	if err := j.prepareLeaving(0); err != nil {
		return next, nil, fmt.Errorf("%w: %w", ErrFull, err)
	}
	j.mu.Lock()
	f := j.spare
	j.mu.Unlock()
	if _, err := f.WriteAt(next.header(), 0); err != nil {
		return next, nil, fmt.Errorf("begin journal segment: %w", err)
	}
	j.mu.Lock()
	j.spare = nil
	j.retired = append(j.retired, j.file)
	j.segs, j.file = append(j.segs, next), f
	j.mu.Unlock()
	j.point("journal.rotated")
	signal(j.wanted)
	return next, f, nil
}
