package gateway

import (
	"math"
	"testing"
)

func TestMaxBodies(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	for memory, want := range map[int64]int64{math.MaxInt64: 320 * mib, 3072 * mib: 320 * mib, 922 * mib: 922 * mib / 3, 660 * mib: 660 * mib / 3, 64 * mib: 160 * mib} {
		if got := maxBodies(32*mib, memory); got != want {
			t.Errorf("with %d MiB: got %d, want %d", memory/mib, got, want)
		}
	}
}
