package quote

import (
	"time"

	"weir/internal/dialect/explain"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/provider"
	"weir/internal/rawjson"
)

// Answer is the result of an attempt at a target.
type Answer struct {
	*Quote
	*Tally
	Attempt *ledger.Attempt
	Ended   time.Time // by the ledger's clock
	Gone    bool      // the client has disconnected

	by ledger.Served // the model that answered
}

// Failed returns the settlement of a failed attempt, with the provider's id of its reply.
func (a Answer) Failed(f *provider.Failure) ledger.Settlement {
	s := a.failed(f)
	if a.Gone && (s.Outcome == ledger.OutcomeClientGone || s.Outcome == ledger.OutcomeRefused) {
		s.Code = ledger.CodeClientGone // not the provider's fault
	}
	a.identify(&s)
	recordServed(&a, &s)
	return s
}

// identify sets the provider's id of the reply, and whether the provider can report on it later. If the provider
// stores answers, that excludes answers to translated requests and those that the client does not want stored.
func (a Answer) identify(s *ledger.Settlement) {
	s.ReplyID = a.id
	s.Ask = s.Provenance == ledger.Estimated && s.ReplyID != "" && a.Target.Provider.Asks(a.Speaks) &&
		(a.Speaks.Kept == nil || a.Speaks == a.Dialect && string(rawjson.Get(a.Body, "store")) != "false")
}

// failed returns the settlement of a failed attempt: by the provider's counts, if it reported any. An error status of
// the provider before any output is free. After any other failure, including a status of a gateway in between that
// gave up, the provider may have worked: the settlement is then an estimate with an upper bound.
func (a Answer) failed(f *provider.Failure) ledger.Settlement {
	s := ledger.Settlement{Outcome: ledger.OutcomeFailed, Provenance: ledger.Exact, Status: f.Status, Code: f.Err.Code}
	switch {
	case !f.Sent():
		s.Outcome = ledger.OutcomeRefused
	case f.Kind == provider.KindAborted, f.Kind == provider.KindSubstituted,
		a.Begun && (a.Head.Stream || f.Refusal()), a.believable() && !a.Usage.IsZero(),
		a.charged != nil && *a.charged > 0:
		return a.cut(f)
	case f.Refusal() && (!a.isUnseen(f) || a.BillsRefusal(f)):
		return a.Rejected(f)
	default:
		s.Provenance = ledger.Estimated
		s.Usage = a.InputUsage()
		s.AtMost, s.Unpriced = a.atMost()
		openBound{&a, &s}.boundReported()
		if a.Gone {
			s.Outcome = ledger.OutcomeClientGone
		}
	}
	return s
}

// isUnseen reports whether the provider may have worked, and charges for it, although the answer is an error status.
func (a Answer) isUnseen(f *provider.Failure) bool {
	return f.Unseen() && !a.Op.Free && (!f.Explained() || !a.Target.Provider.FreesFailures())
}

// cut returns the settlement of an attempt whose answer broke off: by the provider's counts, if it reported any, and
// otherwise by Weir's own count.
func (a Answer) cut(f *provider.Failure) ledger.Settlement {
	s := ledger.Settlement{
		Outcome: ledger.OutcomeCut, Provenance: ledger.Exact, Usage: a.Usage, Tier: a.served(),
		ProviderCost: a.reportedCost(), Status: f.Status, Code: f.Err.Code, FirstToken: a.FirstToken,
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
		openBound{&a, &s}.boundReported()
	}
	a.bill(&s.Usage)
	openBound{&a, &s}.boundUnreported()
	return s
}

// openBound raises the upper bound of a settlement by each property of its answer that decides the cost and that the
// provider did not report.
type openBound struct {
	*Answer
	settlement *ledger.Settlement
}

// boundUnreported raises the bound of an otherwise fully reported answer if its cost depends on properties that the
// provider did not report: of its units, such as the size of an image, the lifetime of containers, or which of its
// tokens are of an image or a sound, or if its counts contradict one another. A provider's charge that is the cost
// leaves nothing open.
func (b openBound) boundUnreported() {
	s := b.settlement
	if s.Provenance != ledger.Exact || b.billed() {
		return
	}
	price := &b.Attempt.Price
	if most, certain := price.AtMost(&s.Usage, s.Tier, b.Ended.Sub(b.Attempt.Opened)); !certain {
		s.Provenance, s.AtMost = ledger.Estimated, most
	}
	if made := s.Usage[llm.AudioOut] + s.Usage[llm.ImageOut] + s.Usage[llm.Images]; b.media && made == 0 &&
		s.ProviderCost == nil {
		if most := price.MadeAtMost(&s.Usage, s.Tier); most > price.Cost(&s.Usage, s.Tier) {
			s.Provenance, s.AtMost = ledger.Estimated, max(s.AtMost, price.Dearest(most))
		}
	}
	b.boundMedia()
	b.boundModes()
	b.boundSearchFee()
	b.boundCache()
	b.boundTools()
	b.boundMost()
}

// billed reports whether the attempt's cost is the charge that its provider reported.
func (a Answer) billed() bool { return a.Attempt.Bills(a.reportedCost()) }

// boundTools adds to the bound the highest possible cost of the provider's own tools that the answer does not report,
// and records those without a rate. A provider's reported charge includes all tools.
func (b openBound) boundTools() {
	s := b.settlement
	if s.ProviderCost != nil {
		return
	}
	most := s.Usage
	for class, n := range b.UnreportedTools() {
		if held := b.Attempt.Bound[class]; b.Attempt.Reservation != nil && held > 0 && !b.table.UsualTools() {
			n = min(n, held) // the request may have a cap on them
		}
		if s.Usage[class] == 0 {
			most[class] = n
		}
	}
	if most == s.Usage {
		return
	}
	price := &b.Attempt.Price
	s.Provenance, s.AtMost = ledger.Estimated, max(s.AtMost, price.CostAtMost(&most, s.Tier))
	s.Unpriced |= price.Unpriced(&most, s.Tier)
}

// Rejected returns the settlement of an attempt that its provider refused: free, except for a fee or for work that
// some providers charge for refused content.
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
		if s.AtMost, s.Unpriced = a.atMost(); f.Overflow() { // there was no output
			s.AtMost, s.Unpriced = a.atMostRead()
		}
	}
	return s
}

// BillsRefusal reports whether the target's provider charges for its refusal.
func (o *Offer) BillsRefusal(f *provider.Failure) bool {
	return o.Target.Provider.BillsRefusals() && f.Worked()
}

// served returns the modes in which the answer was served.
func (a Answer) served() string {
	return a.Attempt.Price.Served(a.Quirks.Served(a.tier, a.Head.Tier), a.Head.Asked)
}

// bill adjusts the usage of an attempt to the amounts that the provider charges: one request, charges separate from
// tokens, the minimum of a recording, and cache writes in the class that the request selected.
func (q *Quote) bill(u *llm.Usage) {
	if q.Head.LongCache && q.Speaks == q.Dialect {
		u[llm.CacheWrite1h] += u[llm.CacheWrite]
		u[llm.CacheWrite] = 0
	}
	u[llm.Requests] = q.requests()
	u[llm.OtherTools] = max(u[llm.OtherTools], q.SeparateFees())
	q.Quirks.Bill(u)
}

// requests returns the number of requests that an attempt is charged for, if its model has a price for them.
func (q *Quote) requests() int64 {
	if q.Op.Free {
		return 0
	}
	return 1
}

// Succeeded returns the settlement of a whole answer.
func (a Answer) Succeeded() ledger.Settlement {
	s := ledger.Settlement{
		Outcome: ledger.OutcomeOK, Provenance: ledger.Exact, Usage: a.Usage, Tier: a.served(),
		ProviderCost: a.reportedCost(), Finish: a.finishReason(), Status: a.Status, FirstToken: a.FirstToken,
		Duration: max(0, a.Ended.Sub(a.Attempt.Opened)),
	}
	if !a.LastWord() {
		s.Usage = a.estimate()
		if s.Usage[llm.Characters] == 0 { // the number of characters is exact
			s.Provenance = ledger.Estimated
			s.AtMost, s.Unpriced = a.atMost()
			openBound{&a, &s}.boundReported()
		}
	}
	a.bill(&s.Usage)
	a.identify(&s) // it must precede boundUnreported: a fully reported answer needs no later report
	openBound{&a, &s}.boundUnreported()
	recordServed(&a, &s)
	return s
}

// believable reports whether the provider reported plausible counts.
func (a Answer) believable() bool { return a.Reported && a.Attempt.Believes(&a.Usage) }

// LastWord reports whether the provider's counts are complete, so that no estimate is needed.
func (a Answer) LastWord() bool {
	return a.believable() && a.inPrice() && !a.Partial && !a.halfReported() && !a.firstAlone()
}

// inPrice reports whether the provider's counts are in classes that its model has a price for. Some providers report
// seconds although the price is per token, or the reverse, which would cost nothing. Counts that are all zero are
// accepted.
func (a Answer) inPrice() bool {
	if a.Head.Units.IsZero() {
		return true
	}
	price, units := &a.Attempt.Price, a.units()
	return a.Usage.IsZero() || price.Cost(&a.Usage, "") > 0 || price.Cost(&units, "") == 0
}
