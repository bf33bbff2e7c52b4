package storetest

import (
	"errors"
	"testing"

	"weir/internal/ledger"
	"weir/internal/must"
)

// testSetAside checks that a record that is set aside is stored once, with the position, and adds nothing to the sums.
func testSetAside(t *testing.T, f *fixture) {
	j, other := newTape(), newTape()
	b := j.next(nil, entry(1))
	b.Aside = []ledger.Aside{
		{At: 7, Record: []byte{3, 0, 255}, Reason: "it has no outcome"}, {At: 8, Record: []byte{0}, Reason: "rejected"},
	}
	apply(t, f, b)
	if err := f.Ledger.Apply(t.Context(), b); !errors.Is(err, ledger.ErrMoved) {
		t.Errorf("apply again: got %v, want %v", err, ledger.ErrMoved)
	}
	still := &ledger.Batch{Journal: j.journal, From: j.at, To: j.at, Settled: []ledger.Entry{entry(3)}}
	for range 2 { // an attempt of a rejected record is settled without a move of the position, and once
		apply(t, f, still)
	}
	second := other.next(nil, entry(2))
	second.Aside = []ledger.Aside{{At: 7, Record: []byte{9}, Reason: "it has an unknown type"}}
	apply(t, f, second)
	for tape, want := range map[*tape]int64{j: 2, other: 1, newTape(): 0} {
		if n := must.Get(f.Ledger.SetAside(t.Context(), tape.journal))(t); n != want {
			t.Errorf("records of journal %s: got %d, want %d", tape.journal, n, want)
		}
	}
	v := verified(t, f)
	if len(v.SetAside) != 3 || v.Rows != 3 {
		t.Fatalf("verify: got %+v; want 3 records set aside next to 3 rows", v)
	}
	for _, r := range v.SetAside {
		if r.Reason == "" || r.Record == "" || r.Position < 7 || r.At.IsZero() {
			t.Errorf("set aside: got %+v; want all fields", r)
		}
	}
	must.Get(f.Ledger.Retain(t.Context(), noon, v.SetAside[0].At, nil))(t)
	if v := verified(t, f); len(v.SetAside) != 3 {
		t.Errorf("retained until then: got %d records, want 3", len(v.SetAside))
	}
	must.Get(f.Ledger.Retain(t.Context(), noon, v.SetAside[2].At.AddDate(0, 0, 1), nil))(t)
	if v := verified(t, f); len(v.SetAside) != 0 {
		t.Errorf("retained: got %d records, want 0", len(v.SetAside))
	}
}

// testRejected checks that a value that the engine does not take is not mistaken for an outage. SQLite takes NUL.
func testRejected(t *testing.T, f *fixture) {
	j := newTape()
	e := entry(1)
	e.Model = "m\x00"
	err := f.Ledger.Apply(t.Context(), j.next(nil, e))
	at := must.Get(f.Ledger.Position(t.Context(), j.journal))(t)
	if rejects := !f.options.URL.IsZero(); rejects != errors.Is(err, ledger.ErrRejected) || rejects != (at == 0) {
		t.Errorf("apply: got %v, position %d; want %v: %v", err, at, ledger.ErrRejected, rejects)
	}
}
