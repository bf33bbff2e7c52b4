package plan

import (
	"time"

	"weir/internal/ledger"
	"weir/internal/llm"
)

const (
	// remembered is for how long limits remember a request.
	remembered = 61 * time.Second
	// around is how many tokens a budget reserves around any request, and aroundTimes how many times its bytes at most
	// around its messages: see package quote.
	around, aroundTimes = 1024, 4
	// leastOutput is the shortest answer, in tokens, that is asked for where there is little room: see package quote.
	leastOutput = 256
)

// demand is what a budget would have been asked for, as far as the record tells: by the bytes of the request (coarse), by
// its tokens (fine), and the most and the least that this can have been.
type demand struct{ high, coarse, fine, low llm.Usage }

// demandOf is the demand of an attempt. Its bound is what a budget was asked for, if there was one when it was recorded;
// else it is of the bytes of the request, with no room around them.
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

// withInput is a bound with so many tokens of input, and all else as it is.
func withInput(u llm.Usage, tokens int64) llm.Usage {
	for class := range u {
		if llm.Class(class).IsInput() {
			u[class] = 0
		}
	}
	u[llm.Input] = tokens
	return u
}
