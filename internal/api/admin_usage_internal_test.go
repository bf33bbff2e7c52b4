package api

import (
	"encoding/json"
	"testing"
	"time"

	"weir/internal/must"
	"weir/internal/report"
)

// TestShortTimesRoundDown checks that less than a millisecond is reported as 0, and a missing time as null.
func TestShortTimesRoundDown(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		first, whole time.Duration
		want         string
	}{
		{0, 0, "[null,null]"},
		{400 * time.Microsecond, 900 * time.Microsecond, "[0,0]"},
		{time.Millisecond, 2500 * time.Microsecond, "[1,2]"},
	} {
		r := viewRequest(&report.Request{FirstToken: test.first, Duration: test.whole})
		a := report.Attempt{}
		a.FirstToken, a.Duration = test.first, test.whole
		v := viewAttempt(&a)
		for _, got := range [][]*int64{{r.FirstTokenMS, r.DurationMS}, {v.FirstTokenMS, v.DurationMS}} {
			text, err := json.Marshal(got)
			if err != nil {
				t.Fatal(err)
			}
			must.Equal(t, string(text), test.want, "the first token and the whole")
		}
	}
}
