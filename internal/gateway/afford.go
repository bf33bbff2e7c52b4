package gateway

import (
	"errors"
	"fmt"

	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/route"
)

// afford claims room in the caller's budgets for an attempt at the target, and
// finds the cap that is to be put in where the client gave none. A closer look
// is taken where the first bound is refused. Without a budget there is nothing
// to do.
func (c *call) afford(t *route.Target) error {
	c.giveUpRoom()
	budgets := c.principal.Budgets()
	if len(budgets) == 0 || c.door.Free {
		return nil
	}
	r, usual := c.readUsual(t)
	if !usual {
		if err := c.unpriced(t); err != nil {
			return err
		}
		r = c.read(t)
	}
	err := c.affordAs(t, budgets, &r, coarse)
	if e, ok := errors.AsType[*llm.Error](err); ok && e.Code == llm.CodeBudgetExceeded && c.wanted.price.Known() {
		return c.affordAs(t, budgets, &r, fine)
	}
	return err
}

func (c *call) affordAs(t *route.Target, budgets []ledger.Budget, r *reading, how precision) error {
	c.wanted = c.demand(t, r, how)
	if !c.wanted.price.Known() {
		return &llm.Error{
			Code: llm.CodeBudgetExceeded, Param: "model",
			Message: fmt.Sprintf("The model %q has no price here, so that no budget can be kept with it. Its operator can give it one in the configuration, under prices.", t.FullName()),
		}
	}
	least, most := c.wanted.amounts()
	room, err := c.server.ledger.Claim(c.r.Context(), ledger.Need{
		Account: c.principal.Account().ID, Budgets: budgets, At: c.started,
		Least: least, Most: most, After: c.hold, Settles: c.settling,
	})
	if err != nil {
		return err
	}
	c.room = room
	c.cap, _ = c.wanted.capFor(room.Amount())
	return nil
}

// giveUpRoom releases what was claimed for an attempt that is not made.
func (c *call) giveUpRoom() {
	c.room.Release()
	c.room = nil
}
