package capacity

import (
	"runtime/metrics"
	"testing"
	"time"

	"weir/internal/telemetry"
)

// TestStrainRefusesMoreOverTime checks the controller: its share of refusals after a number of measurements.
func TestStrainRefusesMoreOverTime(t *testing.T) {
	t.Parallel()
	type looks struct {
		late time.Duration
		n    int
	}
	for name, test := range map[string]struct {
		looks              []looks
		interactive, batch float64
	}{
		"nothing":              {nil, 0, 0},
		"at the limit":         {[]looks{{lateLimit, 100}}, 0, 0},
		"a little late, once":  {[]looks{{lateLimit + 1, 1}}, 0, 0.05},
		"very late, once":      {[]looks{{100 * lateLimit, 1}}, 0, 0.2},
		"batch first":          {[]looks{{4 * lateLimit, 5}}, 0, 1},
		"then the others":      {[]looks{{4 * lateLimit, 7}}, 0.4, 1},
		"never all of them":    {[]looks{{4 * lateLimit, 1000}}, 0.9, 1},
		"between the limits":   {[]looks{{4 * lateLimit, 7}, {lateLimit * 3 / 4, 1000}}, 0.4, 1},
		"well for two seconds": {[]looks{{4 * lateLimit, 1000}, {0, 20}}, 0, 0.9},
		"well for four":        {[]looks{{4 * lateLimit, 1000}, {0, 40}}, 0, 0},
	} {
		var s strain
		for _, l := range test.looks {
			for range l.n {
				s.adjust(l.late)
			}
		}
		for p, want := range map[telemetry.Priority]float64{telemetry.Interactive: test.interactive, telemetry.Batch: test.batch} {
			if got := s.share(p); got < want-0.001 || got > want+0.001 {
				t.Errorf("%s: %s: got the share %.3f refused, want %.3f", name, p, got, want)
			}
		}
	}
}

// TestStrainedShare checks that the share of refusals is exact, that they are spread evenly, and that there are none
// while few requests are in flight.
func TestStrainedShare(t *testing.T) {
	t.Parallel()
	a := newAdmission(1000, 1000, 10)
	a.strain.level = 1.25
	fill(t, a, 10)
	refused := 0
	for range 100 {
		if a.takesStream(telemetry.Interactive, false) == telemetry.CPU {
			refused++
		}
	}
	if refused != 25 {
		t.Errorf("got %d of 100 refused, want 25", refused)
	}
	for range 100 {
		if got := a.takesStream(telemetry.Interactive, true); got != telemetry.NotShed {
			t.Errorf("an account with few requests: got %q, want it admitted", got)
		}
	}
	if got := a.enter(telemetry.Batch); got != telemetry.CPU {
		t.Errorf("batch: got %q, want cpu", got)
	}
	for inFlight, _ := a.holding(); inFlight > 9; inFlight, _ = a.holding() {
		a.leave(telemetry.Interactive)
	}
	if got := a.enter(telemetry.Batch); got != telemetry.NotShed {
		t.Errorf("below the floor: got %q, want it admitted", got)
	}
}

// TestMemoryLevels checks which requests are admitted at each share of GOMEMLIMIT.
func TestMemoryLevels(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		share              float64
		interactive, batch telemetry.Reason
		streams            telemetry.Reason
	}{
		{0, telemetry.NotShed, telemetry.NotShed, telemetry.NotShed},
		{0.84, telemetry.NotShed, telemetry.NotShed, telemetry.NotShed},
		{0.85, telemetry.NotShed, telemetry.Memory, telemetry.Memory},
		{0.95, telemetry.Memory, telemetry.Memory, telemetry.Memory},
	} {
		a := newAdmission(8, 8, 8)
		a.adjust(condition{memory: test.share})
		interactive, batch, streams := a.enter(telemetry.Interactive), a.enter(telemetry.Batch), a.takesStream(telemetry.Interactive, false)
		if interactive != test.interactive || batch != test.batch || streams != test.streams {
			t.Errorf("at %.2f: got %q, %q, streams %q; want %q, %q, streams %q",
				test.share, interactive, batch, streams, test.interactive, test.batch, test.streams)
		}
	}
}

// TestLateIsNinthDecile checks the ninth decile of a histogram since the last measurement.
func TestLateIsNinthDecile(t *testing.T) {
	t.Parallel()
	h := &metrics.Float64Histogram{Buckets: []float64{0, 0.001, 0.010, 0.100}, Counts: []uint64{0, 0, 0}}
	var m machine
	for _, test := range []struct {
		more [3]uint64
		want time.Duration
	}{
		{[3]uint64{5, 0, 10}, 0}, // too few
		{[3]uint64{91, 0, 9}, 0},
		{[3]uint64{90, 0, 10}, 10 * time.Millisecond},
		{[3]uint64{50, 41, 9}, time.Millisecond},
		{[3]uint64{100, 0, 0}, 0},
	} {
		for i, n := range test.more {
			h.Counts[i] += n
		}
		if got := m.late(h); got != test.want {
			t.Errorf("after %v more: got %s, want %s", test.more, got, test.want)
		}
	}
}

// TestLookReadsRuntimeMetrics checks that the runtime still has the metrics.
func TestLookReadsRuntimeMetrics(t *testing.T) {
	t.Parallel()
	m := newMachine()
	for range 2 {
		if c := m.look(); c.late < 0 || c.memory < 0 || c.memory > 10 {
			t.Errorf("got %+v, want nothing below 0", c)
		}
	}
	for i := range m.samples {
		if m.samples[i].Value.Kind() == metrics.KindBad {
			t.Errorf("the runtime knows no %s", m.samples[i].Name)
		}
	}
}

// TestRefusalsAreLoggedRarely checks that the first refusal is logged at once, and many not too often.
func TestRefusalsAreLoggedRarely(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	var told summary
	for _, test := range []struct {
		after time.Duration
		shed  uint64
		want  uint64 // 0 for nothing
	}{{0, 0, 0}, {time.Second, 3, 3}, {2 * time.Second, 50, 0}, {11 * time.Second, 90, 87}, {40 * time.Second, 90, 0}} {
		n, say := told.due(test.shed, start.Add(test.after))
		if n != test.want || say != (test.want > 0) {
			t.Errorf("%d refused after %s: got %d %t, want %d", test.shed, test.after, n, say, test.want)
		}
	}
}
