package gateway

import (
	"weir/internal/dialect/explain"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/provider"
	"weir/internal/rawjson"
	"weir/internal/route"
)

// settle writes how the request's last attempt ended. What the ledger cannot
// write it logs itself; the client gets its answer all the same, for it has
// been served.
func (c *call) settle(s ledger.Settlement) {
	s.Counts = c.reached
	cost, _ := c.hold.Settle(s)
	c.count(&s, cost)
	c.charge(cost)
	c.used += s.Usage.TotalTokens()
	c.settleLimits()
}

// charge adds the cost of an attempt, nil for one without a price, to the
// request's.
func (c *call) charge(cost *llm.Money) {
	if cost == nil {
		c.priced = false
		return
	}
	c.spent += *cost
}

// cost is what the request cost so far, nil when some of it has no price.
func (c *call) cost() *llm.Money {
	if !c.priced {
		return nil
	}
	return &c.spent
}

// settlementOf says how an attempt ends that failed, and by what id its provider knows it.
func (c *call) settlementOf(f *provider.Failure) ledger.Settlement {
	s := c.settlementOfFailed(f)
	c.identify(&s)
	return s
}

// identify names the provider's reply, and says whether the provider can be asked about it.
// What is translated into Responses is not stored there, nor what its client wants not to be.
func (c *call) identify(s *ledger.Settlement) {
	t := c.target()
	d := c.speaking(t)
	s.ReplyID = c.sum.id
	s.Ask = s.Provenance == ledger.Estimated && s.ReplyID != "" && t.Provider.Asks(d) &&
		(d.Name != "responses" || d == c.dialect && string(rawjson.Get(c.body, "store")) != "false")
}

// settlementOfFailed says how an attempt ends that failed: at the provider's numbers, where it
// gave any; an error status before any output is free; after anything else the provider
// may have worked: what was counted is the best estimate, and the most that the request
// can have cost is the bound.
func (c *call) settlementOfFailed(f *provider.Failure) ledger.Settlement {
	s := ledger.Settlement{Outcome: ledger.OutcomeFailed, Provenance: ledger.Exact, Status: f.Status, Code: f.Err.Code}
	c.reached = c.reached || f.Sent()
	switch {
	case !f.Sent():
		s.Outcome = ledger.OutcomeRefused
	case c.sum.begun && (c.head.Stream || f.Refusal()) || c.believable(c.sum) && !c.sum.usage.IsZero():
		return c.settlementOfCut(c.sum, f)
	case f.Refusal():
		return c.rejection(f)
	default:
		s.Provenance = ledger.Estimated
		s.Usage = c.inputUsage()
		s.AtMost, s.Unpriced = c.atMost()
		if c.clientGone() {
			s.Outcome = ledger.OutcomeClientGone
		}
	}
	return s
}

// settlementOfCut says how an attempt ends whose answer broke off: at the
// provider's numbers, where it gave any, else at what was counted.
func (c *call) settlementOfCut(t *tally, f *provider.Failure) ledger.Settlement {
	s := ledger.Settlement{
		Outcome: ledger.OutcomeCut, Provenance: ledger.Exact, Usage: t.usage, Tier: c.served(t), ProviderCost: t.bill,
		Status: f.Status, Code: f.Err.Code, FirstToken: t.firstToken,
	}
	if c.clientGone() {
		s.Outcome = ledger.OutcomeClientGone
	}
	if !c.believable(t) {
		s.Usage = llm.Usage{}
	}
	if !c.lastWord(t) || !t.whole() {
		s.Provenance = ledger.Estimated
		s.Usage, s.ProviderCost = c.estimate(t), nil
		s.AtMost, s.Unpriced = c.atMost()
	}
	c.bill(c.target(), &s.Usage)
	c.boundUntold(&s, t)
	return s
}

// boundUntold adds the most that an answer can have cost whose provider told all but what
// its units are, such as the size of an image, and how long containers lived, or which of its
// tokens are of an image or a sound in it, or whose counts contradict one another.
func (c *call) boundUntold(s *ledger.Settlement, t *tally) {
	if s.Provenance != ledger.Exact {
		return
	}
	a := c.hold.Attempt()
	if most, certain := a.Price.AtMost(&s.Usage, s.Tier, c.server.ledger.Now().Sub(a.Opened)); !certain {
		s.Provenance, s.AtMost = ledger.Estimated, most
	}
	if made := s.Usage[llm.AudioOut] + s.Usage[llm.ImageOut] + s.Usage[llm.Images]; t.media && made == 0 &&
		s.ProviderCost == nil {
		if most := a.Price.MadeAtMost(&s.Usage, s.Tier); most > a.Price.Cost(&s.Usage, s.Tier) {
			s.Provenance, s.AtMost = ledger.Estimated, max(s.AtMost, most)
		}
	}
	if t.most != nil {
		most := *t.most
		c.bill(c.target(), &most)
		for class, n := range s.Usage { // tools are counted by what there is of the answer
			most[class] = max(most[class], n)
		}
		s.Provenance, s.AtMost = ledger.Estimated, max(s.AtMost, a.Price.Cost(&most, s.Tier))
	}
}

// rejection says how an attempt ends that its provider refused: free, but for what some
// charge for a request that they refuse for what it says: a fee, or for the work on it.
func (c *call) rejection(f *provider.Failure) ledger.Settlement {
	s := ledger.Settlement{
		Outcome: ledger.OutcomeRejected, Provenance: ledger.Exact, Status: f.Status,
		Code: f.Err.Code,
	}
	mode := llm.Refused(c.speaking(c.target()).Name)
	if f.Upstream.Code == explain.Policy && c.hold.Attempt().Price.Charges(mode) {
		s.Tier, s.Usage[llm.Requests] = mode, c.requests()
	} else if c.billsRefusal(f) {
		s.Provenance, s.Usage = ledger.Estimated, c.inputUsage()
		if s.AtMost, s.Unpriced = c.atMost(); f.Overflow() { // nothing was made of it
			s.AtMost, s.Unpriced = c.atMostRead()
		}
	}
	return s
}

// billsRefusal says whether the target's provider charges for its refusal.
func (c *call) billsRefusal(f *provider.Failure) bool {
	return c.target().Provider.BillsRefusals() && f.Worked()
}

// served are the modes in which an answer was served.
func (c *call) served(t *tally) string {
	modes := c.quirks(c.target()).Served(t.tier, c.head.Tier)
	return c.hold.Attempt().Price.Served(modes, c.head.Asked)
}

// bill makes of what an attempt at the target used what it is charged as: a request,
// what is charged for apart from tokens, and a short recording as the shortest.
func (c *call) bill(t *route.Target, u *llm.Usage) {
	u[llm.Requests] = c.requests()
	u[llm.OtherTools] = max(u[llm.OtherTools], c.apart)
	c.quirks(t).Bill(u)
}

// requests is how many requests an attempt is charged as, where its model has a
// price for them.
func (c *call) requests() int64 {
	if c.op.Free {
		return 0
	}
	return 1
}

// settlementOfWhole says how a whole answer ends.
func (c *call) settlementOfWhole(t *tally) ledger.Settlement {
	s := ledger.Settlement{
		Outcome: ledger.OutcomeOK, Provenance: ledger.Exact, Usage: t.usage, Tier: c.served(t), ProviderCost: t.bill,
		Finish: t.finishReason(), Status: t.status, FirstToken: t.firstToken,
	}
	if !c.lastWord(t) {
		s.Usage = c.estimate(t)
		if s.Usage[llm.Characters] == 0 { // these are as many as they are
			s.Provenance = ledger.Estimated
			s.AtMost, s.Unpriced = c.atMost()
		}
	}
	c.bill(c.target(), &s.Usage)
	c.identify(&s) // what is told in full is not asked about
	c.boundUntold(&s, t)
	return s
}

// believable says whether the provider gave numbers that can be true.
func (c *call) believable(t *tally) bool {
	return t != nil && t.reported && c.hold.Attempt().Believes(&t.usage)
}

// lastWord says whether the provider's numbers are all there, and so no
// estimate.
func (c *call) lastWord(t *tally) bool {
	return c.believable(t) && c.inPrice(t) && !t.partial && !t.halfTold()
}

// inPrice says whether the provider's numbers are of something that its model
// has a price for. Some tell seconds where the price is of tokens, or the other
// way round, which would be for nothing. No numbers but zeros are its own word.
func (c *call) inPrice(t *tally) bool {
	if c.head.Units.IsZero() {
		return true
	}
	price, units := &c.hold.Attempt().Price, c.units()
	return t.usage.IsZero() || price.Cost(&t.usage, "") > 0 || price.Cost(&units, "") == 0
}

// abandonHold settles what a defect has left open, so that no hold outlives
// its request.
func (c *call) abandonHold() {
	if c.hold == nil || c.hold.Settled() {
		return
	}
	c.reached = true
	s := ledger.Settlement{
		Outcome: ledger.OutcomeFailed, Provenance: ledger.Estimated, Code: llm.CodeInternal,
		AtMost: c.hold.Attempt().Hold,
	}
	s.Usage = c.inputUsage()
	c.settle(s)
}
