package quote

import (
	"weir/internal/ledger"
	"weir/internal/llm"
)

// told is the most that a provider told of one answer so far, which may tell its usage several times.
type told struct {
	counts llm.Usage // of each class
	max    llm.Usage // likewise, with what the counts come to where they contradict one another
	tokens int64     // of a usage of which only some counts could be read
}

// all takes note of a usage and what it comes to at most; nil where its counts agree.
func (t *told) all(u, most *llm.Usage) {
	sums := sumsOf(u)
	t.counts.Raise(&sums)
	t.max.Raise(u)
	if most != nil {
		t.max.Raise(most)
	}
}

// part takes note of the counts that could be read of a usage.
func (t *told) part(most *llm.Usage) {
	t.tokens = max(t.tokens, most.TotalTokens())
	t.max.Raise(most)
	apart := *most // whose sums are not known
	apart[llm.Input], apart[llm.Output] = 0, 0
	t.counts.Raise(&apart)
}

// most is what an answer may have used whose usage is u and comes to so much at most: the largest
// count of each class, where one of them was told to be larger than u says.
func (t *told) most(u, most *llm.Usage) *llm.Usage {
	sums := sumsOf(u)
	fell := t.tokens > u.TotalTokens()
	for class := range sums {
		fell = fell || sums[class] < t.counts[class]
	}
	if !fell {
		return most
	}
	all := t.max
	return &all
}

// sumsOf are the counts that cannot fall while an answer goes on. What was told as plain input or
// output may be told more closely later, and what is cached and written, of which kind it is: all
// of either side stands in Input and Output, all that is cached and written in CacheRead and CacheWrite.
func sumsOf(u *llm.Usage) llm.Usage {
	sums := *u
	sums[llm.Input], sums[llm.Output] = u.InputTokens(), u.OutputTokens()
	sums[llm.CacheRead], sums[llm.CacheReadAudio] = u[llm.CacheRead]+u[llm.CacheReadAudio], 0
	sums[llm.CacheWrite], sums[llm.CacheWrite1h] = u[llm.CacheWrite]+u[llm.CacheWrite1h], 0
	sums[llm.AudioIn] += u[llm.CacheReadAudio]
	return sums
}

// boundMost makes an answer an estimate whose counts contradict one another, were told to be larger
// before, or could be read in part alone: each of them counts in its bound.
func (a Answer) boundMost(s *ledger.Settlement) {
	if a.most == nil {
		return
	}
	most, price := *a.most, &a.Attempt.Price
	a.bill(&most)
	for class, n := range s.Usage { // tools are counted by what there is of the answer
		if !llm.Class(class).IsInput() {
			most[class] = max(most[class], n)
		}
	}
	thought := most // should the rest be thinking, which may be dearer
	thought[llm.Reasoning], thought[llm.Output] = most[llm.Reasoning]+most[llm.Output], 0
	if !price.Rates[llm.Output].Known() { // of embeddings, which have no output
		most[llm.Input] += most[llm.Output]
		most[llm.Output] = 0
	}
	s.Provenance = ledger.Estimated
	s.AtMost = max(s.AtMost, price.Dearest(max(price.Cost(&s.Usage, s.Tier), price.Cost(&most, s.Tier),
		price.Cost(&thought, s.Tier))))
}

// boundTold adds what was told to the bound of an answer whose usage is not all there.
func (a Answer) boundTold(s *ledger.Settlement) {
	if s.Provenance == ledger.Estimated && a.most != nil && a.Attempt.Believes(a.most) {
		a.boundMost(s)
	}
}
