package ledger

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"

	"weir/internal/llm"
	"weir/internal/must"
)

// TestLostSegmentsStopNoProjection checks that a database that is older than the oldest segment, as a restored copy is,
// gets all later records, and that the segment may begin inside of an epoch.
func TestLostSegmentsStopNoProjection(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	change := func(o *Options) { o.SegmentSize = 64 << 10 }
	l := openTest(t, dir, newLockedDB(), change)
	for range 1000 {
		meterOne(t, l)
	}
	closeTest(t, l)
	segments := must.Get(filepath.Glob(filepath.Join(dir, "*.seg")))(t)
	if len(segments) < 4 {
		t.Fatalf("got %d segments, want some", len(segments))
	}
	for _, f := range segments[:2] {
		must.Do(t, os.Remove(f))
	}
	db := newLockedDB()
	db.away.Store(true)
	l = openTest(t, dir, db, change)
	meterOne(t, l)
	for err := error(nil); err == nil; _, err = l.Lag() { // a first try fails
		time.Sleep(time.Millisecond)
	}
	db.away.Store(false)
	closeTest(t, l)
	if got, want := l.Lost(), int64(l.journal.segs[0].prevEnd); got != want || want == 0 {
		t.Errorf("got %d lost bytes, want the %d before the oldest segment", got, want)
	}
	if len(db.rows) < 500 || len(db.aside) > 1 {
		t.Errorf("got %d rows, %d set aside; want the rows of the rest, and at most the settlement at its start",
			len(db.rows), len(db.aside))
	}
}

// TestLostOpeningsStopNoProjection checks that more settlements than may be set aside, whose attempts were opened in a
// lost part of the journal, stop no other record.
func TestLostOpeningsStopNoProjection(t *testing.T) {
	t.Parallel()
	db := newLockedDB()
	l := openTest(t, t.TempDir(), db, nil)
	for range 2 * mostAside {
		id := AttemptID{Request: uuid.New(), N: 1}
		s := Settlement{Outcome: OutcomeOK, Provenance: Exact, Usage: llm.Usage{llm.Input: 1}}
		must.Get(l.journal.Append(appendSettle(nil, id, &s), 0))(t)
	}
	meterOne(t, l)
	closeTest(t, l)
	if len(db.rows) != 2 || len(db.aside) != 2*mostAside {
		t.Errorf("got %d rows, %d set aside; want 2, %d", len(db.rows), len(db.aside), 2*mostAside)
	}
}
