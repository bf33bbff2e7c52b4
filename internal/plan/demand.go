package plan

import (
	"time"

	"weir/internal/ledger"
	"weir/internal/llm"
)

const (
	// remembered is how long limits remember a request.
	remembered = 61 * time.Second
	// around is the number of tokens that a budget reserves around any request, and aroundTimes the largest multiple
	// of its bytes for the text around its messages: see package quote.
	around, aroundTimes = 1024, 4
	// leastOutput is the shortest answer, in tokens, that is requested if there is little room: see package quote.
	leastOutput = 256
)

// demand is the usage that a request reserved from budgets, as far as the record shows: by the bytes of the request
// (coarse), by its tokens (fine), and the largest and the smallest possible value.
type demand struct{ high, coarse, fine, low llm.Usage }

// demandOf returns the demand of an attempt. Its bound is the usage that it reserved, if it had a budget when it was
// recorded; otherwise the bound covers only the bytes of the request.
func demandOf(e *ledger.Entry, budgeted bool) demand {
	counted := e.Usage.InputTokens()
	d := demand{e.Bound, e.Bound, withInput(e.Bound, counted+around), withInput(e.Bound, max(counted, around))}
	if budgeted {
		d.fine = withInput(e.Bound, min(e.Bound.InputTokens(), counted+around))
		d.low = withInput(e.Bound, min(e.Bound.InputTokens(), max(counted, around)))
		return d
	}
	d.coarse = withInput(e.Bound, e.Bound.InputTokens()+around)
	d.high = withInput(e.Bound, e.Bound.InputTokens()*aroundTimes+around)
	return d
}

// withInput returns a bound with that many input tokens and all other classes unchanged.
func withInput(u llm.Usage, tokens int64) llm.Usage {
	for class := range u {
		if llm.Class(class).IsInput() {
			u[class] = 0
		}
	}
	u[llm.Input] = tokens
	return u
}
