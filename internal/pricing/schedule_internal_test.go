package pricing

import (
	"encoding/json"
	"testing"
	"time"

	"weir/internal/must"
)

// TestWindowWeekdays checks that a window on weekdays begins only on these days, continues after midnight, and excludes
// its listed dates; a cached price never outlives it.
func TestWindowWeekdays(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, window string
		in, out      []string
	}{
		{
			"peak hours", `{"from":"01:00","to":"04:00","days":["mon","fri"],"except":["2026-11-27"]}`,
			[]string{"2026-11-23T01:00:00Z", "2026-11-23T03:59:59Z", "2026-11-20T02:00:00Z"},
			[]string{"2026-11-22T02:00:00Z", "2026-11-23T00:59:59Z", "2026-11-23T04:00:00Z", "2026-11-24T02:00:00Z", "2026-11-27T02:00:00Z", "2026-11-28T02:00:00Z"},
		},
		{
			"over midnight", `{"from":"22:00:00","to":"02:00:00","days":["fri"]}`,
			[]string{"2026-11-27T22:00:00Z", "2026-11-27T23:59:59Z", "2026-11-28T01:59:59Z"},
			[]string{"2026-11-27T01:00:00Z", "2026-11-27T21:59:59Z", "2026-11-28T02:00:00Z", "2026-11-28T22:30:00Z"},
		},
		{
			"whole days", `{"days":["sat","sun"]}`,
			[]string{"2026-11-21T00:00:00Z", "2026-11-22T23:59:59Z"},
			[]string{"2026-11-20T23:59:59Z", "2026-11-23T00:00:00Z"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := model{Prices: []dated{{Rates: []byte(`{"input_mtok":"1"}`)}}}
			over := &addition{Rates: []byte(`{"input_mtok":"2"}`)}
			must.Do(t, json.Unmarshal([]byte("["+tt.window+"]"), &over.When))
			m.additions = []*addition{over}
			check := func(times []string, want int64) {
				for _, text := range times {
					at := must.Get(time.Parse(time.RFC3339, text))(t)
					sec := at.Unix()
					q := m.quote(&index{}, "v", "", sec)
					if got := q.price.Rates[0].Pico(); got != want*1_000_000 || sec < q.from || sec >= q.until {
						t.Errorf("%s: got %d pico-dollars from %d until %d, want %d", text, got, q.from-sec, q.until-sec, want*1_000_000)
					}
					for _, s := range []int64{q.from, q.until - 1} { // the same price in all of its time
						if got := m.quote(&index{}, "v", "", s).price.Rates[0].Pico(); got != want*1_000_000 {
							t.Errorf("%s: at second %d of the quote: got %d, want %d", text, s-sec, got, want*1_000_000)
						}
					}
				}
			}
			check(tt.in, 2)
			check(tt.out, 1)
		})
	}
}

func TestWeekdaysAreNamedOnce(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`[]`, `["monday"]`, `["mon","mon"]`, `"mon"`, `[1]`} {
		var d weekdays
		if err := json.Unmarshal([]byte(text), &d); err == nil {
			t.Errorf("%s: got %b, want an error", text, d)
		}
	}
}
