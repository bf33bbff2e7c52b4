package report

import (
	"weir/internal/llm"
	"weir/internal/promptcache"
)

// Missed is input that could have been read from prompt caches.
type Missed struct {
	Tokens int64
	// Costs is what reading would have saved the account, by the index of the cause in promptcache.Causes.
	Costs [promptcache.NumCauses]llm.Money
}

// Cost returns what reading would have saved in all.
func (m *Missed) Cost() (sum llm.Money) {
	for _, cost := range m.Costs {
		sum += cost
	}
	return sum
}

// Add adds the sums of o to m.
func (m *Missed) Add(o *Missed) {
	m.Tokens += o.Tokens
	for i, cost := range o.Costs {
		m.Costs[i] += cost
	}
}

// ByCause returns the costs that are not 0.
func (m *Missed) ByCause() map[promptcache.Cause]llm.Money {
	costs := map[promptcache.Cause]llm.Money{}
	for i, cause := range promptcache.Causes() {
		if m.Costs[i] != 0 {
			costs[cause] = m.Costs[i]
		}
	}
	return costs
}
