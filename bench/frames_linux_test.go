package main

import (
	"net/netip"
	"testing"

	"weir/internal/must"
)

// TestMockAnswersEachFrame checks that the mock answers frames of all lengths with frames as long.
func TestMockAnswersEachFrame(t *testing.T) {
	t.Parallel()
	mock := &subject{target: netip.MustParseAddrPort(startTestMock(t))}
	for _, length := range []int{250, 6400, 70_000} {
		all := &talkers{subject: mock, kind: &framesKind{length: length}}
		t.Cleanup(all.close)
		must.Do(t, all.open())
		must.Do(t, all.exchange(3*framesConns))
	}
}
