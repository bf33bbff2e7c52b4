package ledger

// Extent is a byte range of one journal file.
type Extent struct {
	Segment        string // file name
	Offset, Length int64
}

// SyncedAfter returns the durable extents of the journal after an offset in a segment, in order. An empty segment name
// means the start of the journal. Complete is false if a segment in between has been deleted.
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
