package plan

import (
	"weir/internal/ledger"
)

// request holds the attempts of a recorded request.
type request []ledger.Entry

func (r request) first() *ledger.Entry { return &r[0] }

// grouped passes on requests with all their attempts. The record is ordered by request id (UUIDv7), and so by
// arrival.
type grouped struct {
	next    func(request)
	current request
}

func (g *grouped) add(e *ledger.Entry) {
	if len(g.current) > 0 && g.current.first().ID.Request != e.ID.Request {
		g.end()
	}
	g.current = append(g.current, *e)
}

// end passes on the last request.
func (g *grouped) end() {
	r := g.current
	if g.current = nil; len(r) > 0 {
		g.next(r)
	}
}
