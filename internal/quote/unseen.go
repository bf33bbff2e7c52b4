package quote

import (
	"weir/internal/llm"
)

// atMost is the most that the attempt under way can have cost, of whose usage its
// provider did not tell: by the caps of the request, what it may have thought unseen, the
// provider's own tools, and files by what they can be. It leaves out classes that have no
// rate, which it names.
func (a Answer) atMost() (llm.Money, llm.Classes) {
	most, unpriced := a.costAtMost(a.mostUsed())
	if a.charged != nil && *a.charged <= llm.MaxCost {
		most = max(most, *a.charged)
	}
	return max(most, a.Attempt.Hold), unpriced
}

// atMostRead is atMost for an input that was read and not answered.
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

// mostUsed is what the attempt under way can have used at most.
func (a Answer) mostUsed() llm.Usage {
	held := a.Attempt.Reservation != nil && !a.table.UsualTools()
	if !held && !a.Op.Free { // else the bound is that of its reservation
		return a.boundUnseen()
	}
	return a.Attempt.Bound
}

// boundUnseen is what the attempt under way can have used at most, with as much output as
// its model gives where the client named no cap: without a budget none is put in.
func (a Answer) boundUnseen() llm.Usage {
	r := a.inputsAtMost()
	k := a.Demand(&r, Coarse)
	if k.open {
		k.most = a.MaxOutput()
	}
	return k.bound(k.most)
}
