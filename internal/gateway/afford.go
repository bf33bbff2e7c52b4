package gateway

import (
	"errors"
	"fmt"
	"strings"

	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/route"
)

// afford reserves an amount in the caller's budgets for an attempt at the target, and
// finds the cap that is to be put in where the client gave none. A closer look
// is taken where the first bound is refused. Without a budget all that is looked at is
// whether the target's price may be assumed.
func (c *call) afford(t *route.Target) error {
	c.releaseReservation()
	if err := c.refuseAssumed(t); err != nil {
		return err
	}
	budgets := c.principal.Budgets()
	if len(budgets) == 0 || c.op.Free {
		return nil
	}
	var r costInputs
	err := c.inTurn(func() error {
		usual := false
		if r, usual = c.plainTextInputs(t); usual {
			return nil
		}
		if err := c.unpriced(t); err != nil {
			return err
		}
		if r = c.costInputs(t); r.many != "" {
			return unknownField(r.many)
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = c.affordAs(t, budgets, &r, coarse)
	if e, ok := errors.AsType[*llm.Error](err); ok && e.Code == llm.CodeBudgetExceeded && c.wanted.price.Known() {
		return c.affordAs(t, budgets, &r, fine)
	}
	return err
}

// refuseAssumed is the error for an attempt at an assumed price, where the configuration
// has these refused.
func (c *call) refuseAssumed(t *route.Target) error {
	if c.op.Free || !c.table.RefusesAssumed() {
		return nil
	}
	if p := c.price(t); !p.Known() || p.Basis == llm.BasisModel {
		return nil
	}
	return &llm.Error{
		Code: llm.CodeForbidden, Param: "model",
		Message: fmt.Sprintf(
			"The price of the model %q is assumed, and the configuration refuses assumed prices (pricing.assumed). "+
				"Its operator can give it a price in the configuration, under prices.", t.FullName()),
	}
}

func (c *call) affordAs(t *route.Target, budgets []ledger.Budget, r *costInputs, how precision) error {
	err := c.inTurn(func() error {
		c.wanted = c.demand(t, r, how)
		return c.wanted.refusal(t)
	})
	if err != nil {
		return err
	}
	least, most := c.wanted.amounts()
	reservation, err := c.server.ledger.Reserve(c.r.Context(), ledger.Need{
		Account: c.principal.Account().ID, Budgets: budgets, At: c.started,
		Least: least, Most: most, After: c.hold, Settles: c.settling,
	})
	if err != nil {
		return err
	}
	c.reservation = reservation
	c.cap, _ = c.wanted.capFor(reservation.Amount())
	return nil
}

// refusal is the error for an attempt with whose price no budget can be kept.
func (k *demand) refusal(t *route.Target) error {
	u := k.bound(k.most)
	unknown := k.price.UnboundedAsked(&u, k.asked) | k.price.Without(k.modalities)
	why := ""
	switch name := t.FullName(); {
	case !k.price.Known() && k.price.Basis != llm.BasisModel:
		why = fmt.Sprintf(
			"The price of the model %q is assumed, which the configuration takes for unknown (pricing.assumed)", name)
	case !k.price.Known():
		why = fmt.Sprintf("The model %q has no price here", name)
	case k.price.Basis == llm.BasisFamily:
		why = fmt.Sprintf("The price of the model %q is known for models with a name like it alone", name)
	case unknown != 0:
		why = fmt.Sprintf("What the model %q costs for %s is not known here", name, strings.Join(unknown.Names(), ", "))
	default:
		return nil
	}
	return &llm.Error{
		Code: llm.CodeBudgetExceeded, Param: "model",
		Message: why + ", so that no budget can be kept with it. Its operator can give it a price in the " +
			"configuration, under prices.",
	}
}

// releaseReservation releases what was reserved for an attempt that is not made.
func (c *call) releaseReservation() {
	c.reservation.Release()
	c.reservation = nil
}
