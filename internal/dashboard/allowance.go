package dashboard

import (
	"context"
	"fmt"
	"time"

	"weir/internal/account"
	"weir/internal/budget"
	"weir/internal/llm"
)

// allowance holds a budget or credit and its remaining amount.
type allowance struct {
	Name, Note  string
	Level       Level
	Spent, Left llm.Money
	Limit       llm.Money
	Forecast    string // empty if there is none
	Short       bool   // whether it ends before its period does
}

// allowances returns the account's budget and credit, with forecasts at the present rate of spending.
func (h *overviewHandlers) allowances(ctx context.Context, a *account.Account, x *spentSums, now time.Time) (
	all []allowance, err error,
) {
	status, err := a.BudgetStatus(ctx, now, h.admin.Ledger.Spent)
	if err != nil {
		return nil, err
	}
	if b := a.Budget; b.Limit > 0 {
		one := allowanceOf(budgetName(b.Period), budgetNote(b.Period, now), status.Spent, b.Limit)
		if ends, ok := b.Period.Ends(now); ok {
			one.forecast(b.Period.Starts(now), now, ends)
		} else {
			one.lasts(x, now)
		}
		all = append(all, one)
	}
	if c := a.Credit; c != nil {
		one := allowanceOf("Credit", "prepaid", c.Paid-status.CreditLeft, c.Paid)
		one.lasts(x, now)
		all = append(all, one)
	}
	return all, nil
}

func allowanceOf(name, note string, spent, limit llm.Money) allowance {
	x := allowance{Name: name, Note: note, Spent: spent, Limit: limit, Left: max(limit-spent, 0)}
	x.Level = levelOf(int64(spent), int64(limit), "good")
	switch {
	case x.Level.Percent >= 95 || limit <= 0:
		x.Level.Kind = "bad"
	case x.Level.Percent >= 80:
		x.Level.Kind = "warn"
	}
	return x
}

func budgetName(p budget.Period) string {
	switch p {
	case budget.PeriodDay:
		return "Daily budget"
	case budget.PeriodMonth:
		return "Monthly budget"
	}
	return "Total budget"
}

func budgetNote(p budget.Period, now time.Time) string {
	if ends, ok := p.Ends(now); ok {
		return "resets on " + day(ends) + ", UTC"
	}
	return "never resets"
}

// forecast projects the spending to the end of the period, once a tenth of the period has passed, so that an hour
// does not stand for a month.
func (x *allowance) forecast(starts, now, ends time.Time) {
	whole, passed := ends.Sub(starts), now.Sub(starts)
	if x.Spent <= 0 || x.Left <= 0 || passed < whole/10 {
		return
	}
	pace := float64(x.Spent) / float64(passed)
	if total := pace * float64(whole); total <= float64(x.Limit) {
		x.Forecast = fmt.Sprintf("At this rate, %s will be spent by then.", amount(llm.Money(total)))
		return
	}
	x.Short = true
	at := now.Add(time.Duration(float64(x.Left) / pace))
	when := day(at)
	if whole <= oneDay {
		when = at.UTC().Format("15:04") + " UTC"
	}
	x.Forecast = "At this rate, the limit is reached about " + when + "."
}

// mostForecast bounds how far in the future the end of an allowance without a period is shown.
const mostForecast = 365 * oneDay

// lasts estimates when an allowance without a period is spent, if the spending of the shown days continues.
func (x *allowance) lasts(of *spentSums, now time.Time) {
	cost, passed := of.whole.Total.Cost, now.Sub(of.start(0))
	if cost <= 0 || x.Left <= 0 || passed < oneDay || !of.span.to.Equal(today(now)) {
		return
	}
	left := float64(x.Left) / float64(cost) * float64(passed)
	if left > float64(mostForecast) {
		x.Forecast = "At the rate of the days shown, it lasts for more than a year."
		return
	}
	x.Forecast = "At the rate of the days shown, it lasts until about " + day(now.Add(time.Duration(left))) + "."
}
