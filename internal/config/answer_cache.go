package config

import "time"

// AnswerCache configures stored answers to equal requests.
type AnswerCache struct {
	// Longest is the greatest age of a stored answer that a request, a key or an alias may ask for; 0 stores none.
	Longest time.Duration `yaml:"longest"`
	// Wait is how long a request waits for the answer to an equal one before it goes to a provider itself, at least
	// one second.
	Wait time.Duration `yaml:"wait"`
	// Pace is the time between the events of a stored stream, at most one second; 0 sends it at once.
	Pace time.Duration `yaml:"pace"`
	// Counts is "requests" or "tokens": whether stored answers count only as requests against rate limits, or also
	// with the tokens that they used the first time.
	Counts string `yaml:"counts"`
	// Shared lets accounts without a price list have one another's answers.
	Shared bool `yaml:"shared"`
	// Tools includes requests with tools.
	Tools bool `yaml:"tools"`
	// MaxBytes bounds one answer, 1 KiB to 8 MiB.
	MaxBytes Bytes `yaml:"max_bytes"`
	// BytesPerAccount and TotalBytes bound the encrypted answers of an account, and of all; 0 for no bound. The oldest
	// are deleted.
	BytesPerAccount Bytes `yaml:"bytes_per_account"`
	TotalBytes      Bytes `yaml:"total_bytes"`
}

const (
	maxAnswer = 8 << 20
	maxPace   = time.Second
	// maxAnswerAge bounds the age of stored answers.
	maxAnswerAge = 366 * day
)

func usualAnswerCache() AnswerCache {
	return AnswerCache{
		Longest: day, Wait: 30 * time.Second, Counts: "requests",
		MaxBytes: 1 << 20, BytesPerAccount: 64 << 20, TotalBytes: 1 << 30,
	}
}

func (ch *checker) checkAnswerCache(c *AnswerCache) {
	checkAnswerAge(ch, "answer_cache.longest", c.Longest)
	if c.Wait < time.Second {
		ch.report("answer_cache.wait", "`answer_cache.wait` must be at least 1s")
	}
	if c.Pace < 0 || c.Pace > maxPace {
		ch.report("answer_cache.pace", "`answer_cache.pace` must be 0s to 1s")
	}
	ch.checkWord("answer_cache.counts", c.Counts, []string{"requests", "tokens"})
	if c.MaxBytes < minBody || c.MaxBytes > maxAnswer {
		ch.report("answer_cache.max_bytes", "`answer_cache.max_bytes` must be 1KiB to 8MiB, not %s", c.MaxBytes)
	}
	ch.checkRange("answer_cache.bytes_per_account", int64(c.BytesPerAccount), 0)
	ch.checkRange("answer_cache.total_bytes", int64(c.TotalBytes), 0)
}

// checkAnswerAge reports an age of stored answers out of range.
func checkAnswerAge(ch *checker, path string, age time.Duration) {
	if age != 0 && (age < time.Second || age > maxAnswerAge) {
		ch.report(path, "`%s` must be 1s to 366d, or 0s for no stored answers", path)
	}
}
