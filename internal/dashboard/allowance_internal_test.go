package dashboard

import (
	"strings"
	"testing"
	"time"

	"weir/internal/budget"
	"weir/internal/llm"
)

// TestForecastOfPeriodBudget checks the forecast for a budget with a period.
func TestForecastOfPeriodBudget(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		period budget.Period
		now    time.Time
		spent  llm.Money
		want   string
		short  bool
	}{
		{"too early", budget.PeriodMonth, time.Date(2026, 11, 3, 23, 0, 0, 0, time.UTC), 50 * llm.USD, "", false},
		{"nothing spent", budget.PeriodMonth, time.Date(2026, 11, 16, 0, 0, 0, 0, time.UTC), 0, "", false},
		{"all spent", budget.PeriodMonth, time.Date(2026, 11, 16, 0, 0, 0, 0, time.UTC), 101 * llm.USD, "", false},
		{"enough", budget.PeriodMonth, time.Date(2026, 11, 16, 0, 0, 0, 0, time.UTC), 20 * llm.USD, "At this rate, $40.00 will be spent by then.", false},
		{"as much as there is", budget.PeriodMonth, time.Date(2026, 11, 16, 0, 0, 0, 0, time.UTC), 50 * llm.USD, "At this rate, $100.00 will be spent by then.", false},
		{"short", budget.PeriodMonth, time.Date(2026, 11, 11, 0, 0, 0, 0, time.UTC), 50 * llm.USD, "At this rate, the limit is reached about 21 Nov 2026.", true},
		{"a day", budget.PeriodDay, time.Date(2026, 11, 11, 6, 0, 0, 0, time.UTC), 50 * llm.USD, "At this rate, the limit is reached about 12:00 UTC.", true},
	} {
		x := allowanceOf("", "", tt.spent, 100*llm.USD)
		ends, _ := tt.period.Ends(tt.now)
		x.forecast(tt.period.Starts(tt.now), tt.now, ends)
		if x.Forecast != tt.want || x.Short != tt.short {
			t.Errorf("%s: got %q, short %t; want %q, %t", tt.name, x.Forecast, x.Short, tt.want, tt.short)
		}
	}
}

// TestLastsForecastsWithoutPeriod checks the forecast for a budget or credit without a period.
func TestLastsForecastsWithoutPeriod(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name  string
		span  span
		spent llm.Money
		want  string
	}{
		{"ten days more", span{now.AddDate(0, 0, -10), now}, 50 * llm.USD, "At the rate of the days shown, it lasts until about 1 Dec 2026."},
		{"long", span{now.AddDate(0, 0, -10), now}, llm.USD, "At the rate of the days shown, it lasts for more than a year."},
		{"not to today", span{now.AddDate(0, 0, -10), now.AddDate(0, 0, -1)}, 50 * llm.USD, ""},
		{"unused", span{now.AddDate(0, 0, -10), now}, 0, ""},
		{"today alone", span{now, now}, 50 * llm.USD, ""},
	} {
		of := &spentSums{span: tt.span}
		of.whole.Total.Cost = tt.spent
		x := allowanceOf("", "", tt.spent, tt.spent+50*llm.USD)
		if x.lasts(of, now); x.Forecast != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, x.Forecast, tt.want)
		}
	}
}

// TestLinesHaveGaps checks that lines have gaps at unknown values, and that a point between two gaps is visible.
func TestLinesHaveGaps(t *testing.T) {
	t.Parallel()
	l := lines{label: "<l>", unit: number, series: 1, points: []point{
		{name: "1"}, {name: "2", values: []int64{2}}, {name: "3"}, {name: "4", values: []int64{0}}, {name: "5", values: []int64{2}},
	}}
	text := string(l.picture())
	if want := `<path class="l1" d="M258 12h3M522 172L654 12"/>`; !strings.Contains(text, want) {
		t.Errorf("got %s, want %s in it", text, want)
	}
	if got := strings.Count(text, `<g class="slot">`); got != len(l.points) {
		t.Errorf("%d slots, want one a point", got)
	}
	if strings.Contains(text, "<l>") {
		t.Error("the label is not escaped")
	}
}
