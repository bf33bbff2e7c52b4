package ledger

import (
	"encoding/binary"

	"weir/internal/llm"
)

// Cached says that an attempt called no provider: the request was answered by a stored answer. Such an attempt has no
// usage and no price, and costs nothing.
type Cached struct {
	Hit bool
	// Saved is the account's charge for the request that got the answer from a provider; 0 if it was not known.
	Saved llm.Money
}

// flagCached marks a settlement that ends with the saved amount. Like the served model, it is ignored by an older
// program.
const flagCached = 1 << 20

func cachedFlags(c *Cached) uint64 {
	if c.Hit {
		return flagCached
	}
	return 0
}

func appendCached(dst []byte, c *Cached) []byte {
	if !c.Hit {
		return dst
	}
	return binary.AppendVarint(dst, int64(c.Saved))
}

func (d *decoder) cached(flags uint64) (c Cached) {
	if flags&flagCached != 0 {
		c = Cached{Hit: true, Saved: llm.Money(d.varint())}
	}
	return c
}

// Record writes an attempt that calls no provider together with its settlement, in one write, and returns its settled
// hold. An error is a *llm.Error if the journal has no space.
func (l *Ledger) Record(a Attempt, s Settlement) (*Hold, error) {
	h := new(Hold)
	if err := l.begin(h, a); err != nil {
		return nil, err
	}
	var at Position
	err := h.complete(&s)
	if err == nil {
		at, err = l.append(&h.attempt, &s, a.ID)
	}
	if err != nil {
		l.budgets.Drop(&h.counted)
		return nil, err
	}
	h.used.Store(true)
	h.settled.Store(true)
	h.settlement = s
	l.budgets.Spend(&h.counted, s.Charged(), at, nil)
	return h, nil
}
