package app

import (
	"weir/internal/answercache"
	"weir/internal/config"
	"weir/internal/store"
	"weir/internal/telemetry"
)

// answerQuota returns the bounds of the answer cache.
func answerQuota(c *config.Config) store.SealedQuota {
	return store.SealedQuota{Account: int64(c.AnswerCache.BytesPerAccount), All: int64(c.AnswerCache.TotalBytes)}
}

// openAnswers creates the answer cache, unless the configuration stores no answers.
func openAnswers(g *instance) {
	c := &g.options.Config.AnswerCache
	if c.Longest == 0 {
		return
	}
	keys := g.admin.Answers
	g.answers = answercache.New(answercache.Options{
		Store: g.store.Answers, Seal: keys.Seal, Open: keys.Open, Now: g.store.Now,
		Policy: answercache.Policy{
			Longest: c.Longest, Wait: c.Wait, Pace: c.Pace, MaxBytes: int64(c.MaxBytes), Shared: c.Shared,
			Tools: c.Tools, Tokens: c.Counts == "tokens",
		},
	})
}

// measureAnswers registers the metrics of the answer cache.
func measureAnswers(g *instance) {
	m := g.metrics
	telemetry.Counter(m, "weir_answer_cache_hits_total", "Requests answered by a stored answer.",
		func() int64 { return g.answers.Stats().Hits })
	telemetry.Counter(m, "weir_answer_cache_misses_total",
		"Requests that asked for a stored answer and were sent to a provider.",
		func() int64 { return g.answers.Stats().Misses })
	telemetry.Counter(m, "weir_answer_cache_bypassed_total",
		"Requests that asked for a stored answer and must not have one, such as those with tools.",
		func() int64 { return g.answers.Stats().Bypassed })
	telemetry.Counter(m, "weir_answer_cache_saved_nanousd_total",
		"What the stored answers were charged the first time, in billionths of a US dollar.",
		func() int64 { return g.answers.Stats().Saved })
	telemetry.Gauge(m, "weir_answer_cache_bytes", "Encrypted bytes of stored answers, on all nodes.",
		func() int64 {
			return bytesInAll(g.store.Answers.Usage, func(u *store.SealedUsage) int64 { return u.Bytes })
		})
}
