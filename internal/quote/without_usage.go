package quote

import (
	"weir/internal/llm"
)

// atMost returns the highest cost of the current attempt if its provider reported no usage: by the request's caps,
// possible hidden thinking, the provider's own tools, and the largest possible files. It excludes classes without a
// rate, and returns them.
func (a Answer) atMost() (llm.Money, llm.Classes) {
	most, unpriced := a.costAtMost(a.mostUsed())
	if a.charged != nil && *a.charged <= llm.MaxCost {
		most = max(most, *a.charged)
	}
	return max(most, a.Attempt.Hold), unpriced
}

// atMostRead returns the highest cost of input that was read but not answered.
func (a Answer) atMostRead() (llm.Money, llm.Classes) {
	bound := a.mostUsed()
	for i := range bound {
		if class := llm.Class(i); class.IsOutput() || class.IsTool() || class == llm.Images {
			bound[i] = 0
		}
	}
	return a.costAtMost(bound)
}

func (a Answer) costAtMost(bound llm.Usage) (llm.Money, llm.Classes) {
	price, asked := &a.Attempt.Price, a.asked()
	return min(llm.MaxCost, price.BoundAsked(&bound, asked)), price.UnboundedAsked(&bound, asked)
}

// mostUsed returns the highest usage of the current attempt.
func (a Answer) mostUsed() llm.Usage {
	held := a.Attempt.Reservation != nil && !a.table.UsualTools()
	if !held && !a.Op.Free { // otherwise the bound is that of its reservation
		return a.boundWithoutUsage()
	}
	return a.Attempt.Bound
}

// boundWithoutUsage returns the highest usage of the current attempt, with the model's maximum output if the client
// set no cap: without a budget none is added.
func (a Answer) boundWithoutUsage() llm.Usage {
	r := a.inputsAtMost()
	k := a.Demand(&r, Coarse)
	if k.open {
		k.most = a.MaxOutput()
	}
	return k.bound(k.most)
}
