package quote

import (
	"time"

	"weir/internal/dialect/explain"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/provider"
	"weir/internal/rawjson"
)

// Answer is what came of an attempt at a target.
type Answer struct {
	*Quote
	*Tally
	Attempt *ledger.Attempt
	Ended   time.Time // by the ledger's clock
	Gone    bool      // the client has left
}

// Failed says how an attempt ends that failed, and by what id its provider knows it.
func (a Answer) Failed(f *provider.Failure) ledger.Settlement {
	s := a.failed(f)
	if a.Gone && (s.Outcome == ledger.OutcomeClientGone || s.Outcome == ledger.OutcomeRefused) {
		s.Code = ledger.CodeClientGone // no fault of the provider's
	}
	a.identify(&s)
	return s
}

// identify names the provider's reply, and says whether the provider can be asked about it.
// Where answers are kept, one to a translated request is not, nor one that its client wants not to be.
func (a Answer) identify(s *ledger.Settlement) {
	s.ReplyID = a.id
	s.Ask = s.Provenance == ledger.Estimated && s.ReplyID != "" && a.Target.Provider.Asks(a.Speaks) &&
		(a.Speaks.Kept == nil || a.Speaks == a.Dialect && string(rawjson.Get(a.Body, "store")) != "false")
}

// failed says how an attempt ends that failed: at the provider's numbers, where it gave any; an
// error status of the provider before any output is free; after anything else, as after a status of
// somebody between who gave up, the provider may have worked:
// what was counted is the best estimate, and the most that the request can have cost is the
// bound.
func (a Answer) failed(f *provider.Failure) ledger.Settlement {
	s := ledger.Settlement{Outcome: ledger.OutcomeFailed, Provenance: ledger.Exact, Status: f.Status, Code: f.Err.Code}
	switch {
	case !f.Sent():
		s.Outcome = ledger.OutcomeRefused
	case f.Kind == provider.KindAborted, a.Begun && (a.Head.Stream || f.Refusal()), a.believable() && !a.Usage.IsZero(),
		a.charged != nil && *a.charged > 0:
		return a.cut(f)
	case f.Refusal() && (!a.isUnseen(f) || a.BillsRefusal(f)):
		return a.Rejected(f)
	default:
		s.Provenance = ledger.Estimated
		s.Usage = a.InputUsage()
		s.AtMost, s.Unpriced = a.atMost()
		a.boundTold(&s)
		if a.Gone {
			s.Outcome = ledger.OutcomeClientGone
		}
	}
	return s
}

// isUnseen says whether the provider may have worked, and charges for it, though the answer is an error status.
func (a Answer) isUnseen(f *provider.Failure) bool {
	return f.Unseen() && !a.Op.Free && (!f.Explained() || !a.Target.Provider.FreesFailures())
}

// cut says how an attempt ends whose answer broke off: at the provider's numbers, where it gave
// any, else at what was counted.
func (a Answer) cut(f *provider.Failure) ledger.Settlement {
	s := ledger.Settlement{
		Outcome: ledger.OutcomeCut, Provenance: ledger.Exact, Usage: a.Usage, Tier: a.served(), ProviderCost: a.toldCost(),
		Status: f.Status, Code: f.Err.Code, FirstToken: a.FirstToken,
	}
	if a.Gone {
		s.Outcome = ledger.OutcomeClientGone
	}
	if !a.believable() {
		s.Usage = llm.Usage{}
	}
	if !a.LastWord() || !a.Whole() {
		s.Provenance = ledger.Estimated
		s.Usage, s.ProviderCost = a.estimate(), nil
		s.AtMost, s.Unpriced = a.atMost()
		a.boundTold(&s)
	}
	a.bill(&s.Usage)
	a.boundUntold(&s)
	return s
}

// boundUntold adds the most that an answer can have cost whose provider told all but what
// its units are, such as the size of an image, and how long containers lived, or which of its
// tokens are of an image or a sound in it, or whose counts contradict one another. What its provider
// says that it charges, and is the cost, leaves nothing open.
func (a Answer) boundUntold(s *ledger.Settlement) {
	if s.Provenance != ledger.Exact || a.billed() {
		return
	}
	price := &a.Attempt.Price
	if most, certain := price.AtMost(&s.Usage, s.Tier, a.Ended.Sub(a.Attempt.Opened)); !certain {
		s.Provenance, s.AtMost = ledger.Estimated, most
	}
	if made := s.Usage[llm.AudioOut] + s.Usage[llm.ImageOut] + s.Usage[llm.Images]; a.media && made == 0 &&
		s.ProviderCost == nil {
		if most := price.MadeAtMost(&s.Usage, s.Tier); most > price.Cost(&s.Usage, s.Tier) {
			s.Provenance, s.AtMost = ledger.Estimated, max(s.AtMost, price.Dearest(most))
		}
	}
	a.boundMedia(s)
	a.boundModes(s)
	a.boundSearchFee(s)
	a.boundCache(s)
	a.boundTools(s)
	a.boundMost(s)
}

// billed says whether the attempt costs what its provider says that it charges.
func (a Answer) billed() bool { return a.Attempt.Bills(a.toldCost()) }

// boundTools adds the most that tools of the provider's own can have cost of which the answer
// says nothing, and names those without a rate. Who tells what it charges tells of all.
func (a Answer) boundTools(s *ledger.Settlement) {
	if s.ProviderCost != nil {
		return
	}
	most := s.Usage
	for class, n := range a.Untold() {
		if held := a.Attempt.Bound[class]; a.Attempt.Reservation != nil && held > 0 && !a.table.UsualTools() {
			n = min(n, held) // the request may have a cap on them
		}
		if s.Usage[class] == 0 {
			most[class] = n
		}
	}
	if most == s.Usage {
		return
	}
	price := &a.Attempt.Price
	s.Provenance, s.AtMost = ledger.Estimated, max(s.AtMost, price.CostAtMost(&most, s.Tier))
	s.Unpriced |= price.Unpriced(&most, s.Tier)
}

// Rejected says how an attempt ends that its provider refused: free, but for what some
// charge for a request that they refuse for what it says: a fee, or for the work on it.
func (a Answer) Rejected(f *provider.Failure) ledger.Settlement {
	s := ledger.Settlement{
		Outcome: ledger.OutcomeRejected, Provenance: ledger.Exact, Status: f.Status,
		Code: f.Err.Code,
	}
	mode := llm.Refused(a.Speaks.Name)
	if f.Upstream.Code == explain.Policy && a.Attempt.Price.Charges(mode) {
		s.Tier, s.Usage[llm.Requests] = mode, a.requests()
	} else if a.BillsRefusal(f) {
		s.Provenance, s.Usage = ledger.Estimated, a.InputUsage()
		if s.AtMost, s.Unpriced = a.atMost(); f.Overflow() { // nothing was made of it
			s.AtMost, s.Unpriced = a.atMostRead()
		}
	}
	return s
}

// BillsRefusal says whether the target's provider charges for its refusal.
func (q *Quote) BillsRefusal(f *provider.Failure) bool {
	return q.Target.Provider.BillsRefusals() && f.Worked()
}

// served are the modes in which the answer was served.
func (a Answer) served() string {
	return a.Attempt.Price.Served(a.Quirks.Served(a.tier, a.Head.Tier), a.Head.Asked)
}

// bill makes of what an attempt at the target used what it is charged as: a request,
// what is charged for apart from tokens, a short recording as the shortest, and what was
// written to a cache as the request asked for it.
func (q *Quote) bill(u *llm.Usage) {
	if q.Head.LongCache && q.Speaks == q.Dialect {
		u[llm.CacheWrite1h] += u[llm.CacheWrite]
		u[llm.CacheWrite] = 0
	}
	u[llm.Requests] = q.requests()
	u[llm.OtherTools] = max(u[llm.OtherTools], q.Apart())
	q.Quirks.Bill(u)
}

// requests is how many requests an attempt is charged as, where its model has a
// price for them.
func (q *Quote) requests() int64 {
	if q.Op.Free {
		return 0
	}
	return 1
}

// Succeeded says how a whole answer ends.
func (a Answer) Succeeded() ledger.Settlement {
	s := ledger.Settlement{
		Outcome: ledger.OutcomeOK, Provenance: ledger.Exact, Usage: a.Usage, Tier: a.served(), ProviderCost: a.toldCost(),
		Finish: a.finishReason(), Status: a.Status, FirstToken: a.FirstToken,
	}
	if !a.LastWord() {
		s.Usage = a.estimate()
		if s.Usage[llm.Characters] == 0 { // these are as many as they are
			s.Provenance = ledger.Estimated
			s.AtMost, s.Unpriced = a.atMost()
			a.boundTold(&s)
		}
	}
	a.bill(&s.Usage)
	a.identify(&s) // what is told in full is not asked about
	a.boundUntold(&s)
	return s
}

// believable says whether the provider gave numbers that can be true.
func (a Answer) believable() bool { return a.Reported && a.Attempt.Believes(&a.Usage) }

// LastWord says whether the provider's numbers are all there, and so no
// estimate.
func (a Answer) LastWord() bool {
	return a.believable() && a.inPrice() && !a.Partial && !a.halfTold() && !a.firstAlone()
}

// inPrice says whether the provider's numbers are of something that its model
// has a price for. Some tell seconds where the price is of tokens, or the other
// way round, which would be for nothing. No numbers but zeros are its own word.
func (a Answer) inPrice() bool {
	if a.Head.Units.IsZero() {
		return true
	}
	price, units := &a.Attempt.Price, a.units()
	return a.Usage.IsZero() || price.Cost(&a.Usage, "") > 0 || price.Cost(&units, "") == 0
}
