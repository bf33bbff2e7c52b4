package ledger

// Extent is a part of one file of the journal, in bytes.
type Extent struct {
	Segment        string // name of the file
	Offset, Length int64
}

// SyncedAfter is what the disk has of the journal behind a place in a segment, in order; an empty name is before
// everything. Complete is false where something between has been deleted.
func (l *Ledger) SyncedAfter(segment string, offset int64) (extents []Extent, complete bool) {
	j := l.journal
	synced := Position(j.synced.Load())
	j.mu.Lock()
	defer j.mu.Unlock()
	complete = len(j.segs) > 0 && j.segs[0].name() <= segment
	for i := range j.segs {
		s := &j.segs[i]
		e := Extent{Segment: s.name(), Length: int64(min(s.end, synced) - s.base)}
		switch {
		case e.Segment < segment:
			continue
		case e.Segment == segment:
			e.Offset = offset
			e.Length -= offset
		}
		if e.Length > 0 {
			extents = append(extents, e)
		}
	}
	return extents, complete
}
