package api

import (
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/promptcache"
	"weir/internal/report"
)

// promptCache holds input tokens by what prompt caches did with them, at /v1/uses.
type promptCache struct {
	Read    int64                           `json:"read"`
	Written int64                           `json:"written"`
	Missed  int64                           `json:"missed"` // could have been read
	Cost    llm.Money                       `json:"missed_cost"`
	ByCause map[promptcache.Cause]llm.Money `json:"missed_cost_by_cause"`
}

// promptCacheOf returns what prompt caches did; nil for nothing.
func promptCacheOf(u *report.Use) *promptCache {
	p := &promptCache{
		Read:    u.Usage[llm.CacheRead] + u.Usage[llm.CacheReadAudio],
		Written: u.Usage[llm.CacheWrite] + u.Usage[llm.CacheWrite1h],
		Missed:  u.Missed.Tokens, Cost: u.Missed.Cost(), ByCause: u.Missed.ByCause(),
	}
	if p.Read|p.Written|p.Missed == 0 {
		return nil
	}
	return p
}

// promptCacheView is the same at /admin/v1.
type promptCacheView struct {
	Read    int64                        `json:"read"`
	Written int64                        `json:"written"`
	Missed  int64                        `json:"missed"`
	CostUSD string                       `json:"missed_cost_usd"`
	ByCause map[promptcache.Cause]string `json:"missed_cost_usd_by_cause"`
}

func viewPromptCache(u *report.Use) *promptCacheView {
	p := promptCacheOf(u)
	if p == nil {
		return nil
	}
	v := &promptCacheView{p.Read, p.Written, p.Missed, p.Cost.String(), map[promptcache.Cause]string{}}
	for cause, cost := range p.ByCause {
		v.ByCause[cause] = cost.String()
	}
	return v
}

// missedView holds the input that an attempt could have read from a prompt cache.
type missedView struct {
	Tokens  int64             `json:"tokens"`
	CostUSD string            `json:"cost_usd"` // that reading would have saved
	Cause   promptcache.Cause `json:"cause"`
	Message *int              `json:"message"` // the first that differs from the earlier request, if that is the cause
}

func viewMissed(m *ledger.Missed) *missedView {
	if m.Tokens == 0 {
		return nil
	}
	v := &missedView{Tokens: m.Tokens, CostUSD: m.Cost.String(), Cause: m.Cause}
	if m.Cause == promptcache.Changed {
		v.Message = &m.Message
	}
	return v
}
