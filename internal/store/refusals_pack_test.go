package store

import (
	"bytes"
	"errors"
	"testing"

	"weir/internal/must"
)

// unpackedRefusals reads all counts of a day.
func unpackedRefusals(packed []byte) (map[refusedBy]int64, error) {
	p, err := unpackRefusals(packed)
	if err != nil {
		return nil, err
	}
	all := map[refusedBy]int64{}
	for p.next() {
		var by refusedBy
		for c := range by {
			by[c] = p.texts[c][p.of[c]]
		}
		all[by] += p.n
	}
	return all, p.failed()
}

// someRefusals have one or several values in each column.
func someRefusals() map[refusedBy]int64 {
	return map[refusedBy]int64{
		{"a", "k1", "m", "forbidden", "00"}: 1, {"a", "k2", "m", "forbidden", "23"}: 1 << 40, {"", "", "m", "rate_limited", "07"}: 300,
		{"b", "", "m", "forbidden", "00"}: 5,
	}
}

func TestPackedRefusalsAreReadAgain(t *testing.T) {
	t.Parallel()
	for _, want := range []map[refusedBy]int64{{}, {{"a", "k", "m", "r", "01"}: 9}, someRefusals()} {
		got := must.Get(unpackedRefusals(packRefusals(want)))(t)
		must.Equal(t, got, want, "counts")
	}
	packed := packRefusals(someRefusals())
	for _, wrong := range [][]byte{nil, packed[:len(packed)-1], append([]byte{2}, packed[1:]...), append(bytes.Clone(packed), 0)} {
		if _, err := unpackedRefusals(wrong); !errors.Is(err, errPacked) {
			t.Errorf("%q: got %v, want %v", wrong, err, errPacked)
		}
	}
}

func FuzzPackedRefusals(f *testing.F) {
	f.Add(packRefusals(someRefusals()))
	f.Add(packRefusals(nil))
	f.Fuzz(func(t *testing.T, packed []byte) {
		all, err := unpackedRefusals(packed)
		if err != nil {
			return
		}
		must.Equal(t, must.Get(unpackedRefusals(packRefusals(all)))(t), all, "counts written and read again")
	})
}
