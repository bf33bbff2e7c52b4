package quote

import (
	"weir/internal/ledger"
	"weir/internal/llm"
)

// reported holds the highest reported counts of one answer, whose usage may be reported several times.
type reported struct {
	counts llm.Usage // by class
	max    llm.Usage // the same, with the upper bounds of contradictory counts
	tokens int64     // of a usage with some invalid counts
}

// all adds a usage and its upper bound; nil if its counts agree.
func (t *reported) all(u, most *llm.Usage) {
	sums := sumsOf(u)
	t.counts.Raise(&sums)
	t.max.Raise(u)
	if most != nil {
		t.max.Raise(most)
	}
}

// part adds the valid counts of a usage.
func (t *reported) part(most *llm.Usage) {
	t.tokens = max(t.tokens, most.TotalTokens())
	t.max.Raise(most)
	others := *most // their sums are unknown
	others[llm.Input], others[llm.Output] = 0, 0
	t.counts.Raise(&others)
}

// most returns the upper bound of an answer with usage u and the reported bound most: the largest count of each class
// if an earlier report was larger than u.
func (t *reported) most(u, most *llm.Usage) *llm.Usage {
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

// sumsOf returns the counts that cannot decrease while an answer continues. A later report may split plain input or
// output, or cached and written tokens, into finer classes. Input and Output therefore hold the totals of their
// sides, CacheRead and CacheWrite those of the cache.
func sumsOf(u *llm.Usage) llm.Usage {
	sums := *u
	sums[llm.Input], sums[llm.Output] = u.InputTokens(), u.OutputTokens()
	sums[llm.CacheRead], sums[llm.CacheReadAudio] = u[llm.CacheRead]+u[llm.CacheReadAudio], 0
	sums[llm.CacheWrite], sums[llm.CacheWrite1h] = u[llm.CacheWrite]+u[llm.CacheWrite1h], 0
	sums[llm.AudioIn] += u[llm.CacheReadAudio]
	return sums
}

// boundMost makes an answer an estimate if its counts contradict one another, decreased, or are partly invalid: the
// bound then covers all of them.
func (b openBound) boundMost() {
	s := b.settlement
	if b.most == nil {
		return
	}
	most, price := *b.most, &b.Attempt.Price
	b.bill(&most)
	for class, n := range s.Usage { // tools count by the answer itself
		if !llm.Class(class).IsInput() {
			most[class] = max(most[class], n)
		}
	}
	thought := most // the rest may be thinking, at a higher price
	thought[llm.Reasoning], thought[llm.Output] = most[llm.Reasoning]+most[llm.Output], 0
	if !price.Rates[llm.Output].Known() { // embeddings have no output
		most[llm.Input] += most[llm.Output]
		most[llm.Output] = 0
	}
	s.Provenance = ledger.Estimated
	s.AtMost = max(s.AtMost, price.Dearest(max(price.Cost(&s.Usage, s.Tier), price.Cost(&most, s.Tier),
		price.Cost(&thought, s.Tier))))
}

// boundReported includes the reported counts in the bound of an answer with incomplete usage.
func (b openBound) boundReported() {
	s := b.settlement
	if s.Provenance == ledger.Estimated && b.most != nil && b.Attempt.Believes(b.most) {
		b.boundMost()
	}
}
