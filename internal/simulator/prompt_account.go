package simulator

import (
	"time"

	"weir/internal/promptcache"
)

// MissCause says why a prompt was not read from the cache.
type MissCause string

// The causes.
const (
	MissTooShort MissCause = "below_least"  // the prompt is shorter than the vendor's least
	MissChanged  MissCause = "changed"      // an earlier prompt began otherwise, from Place on
	MissModel    MissCause = "other_target" // another model, or another wire format, has it
	MissKey      MissCause = "other_key"    // another key has it
	MissNoMark   MissCause = "no_mark"      // no mark, now or before, covers it
	MissExpired  MissCause = "expired"      // it was in the cache, too long ago
	MissUnknown  MissCause = "unknown"      // the cache has forgotten it
)

// Miss is input that an earlier request had sent, too, and that was not read from the cache.
type Miss struct {
	Tokens int64
	Cause  MissCause
	// Place is where the prompt differs from the earlier one, for MissChanged: the number of the message from 1, 0 for
	// instructions outside of the messages, -1 for tools.
	Place int
}

// pastPrompt is an earlier prompt.
type pastPrompt struct {
	sections []section
	total    int64
	stored   int64  // the tokens of its longest prefix in the cache
	end      uint64 // the id of that prefix
	key      string
	model    string
	at       time.Time // of its last use
}

// account compares a prompt with the earlier ones of the last hour, and remembers it. Without a cache of any key it
// could have read what the longest earlier prompt with which it begins has. If the newest earlier prompt of the
// conversation begins otherwise, it could have read as much of that one. Less than a step of automatic caches is no
// miss.
func (c *promptCache) account(a *asked, read int64) *Miss {
	var best, changed *pastPrompt // changed: the newest related prompt, if it begins otherwise
	changedAt, most := 0, int64(0)
	for _, p := range c.past { // the oldest first
		if a.at.Sub(p.at) > time.Hour {
			continue
		}
		common := commonSections(a.sections, p.sections)
		switch {
		case common == len(p.sections):
			changed = nil
			if could := a.could(p); could > most || could == most && a.isBetter(p, best) {
				best, most = p, could
			}
		case reappears(p.sections[common:], a.sections[common:]):
			changed, changedAt = p, common
		}
	}
	if changed != nil {
		best, most = changed, a.could(changed)
	}
	if best == nil || most-read < leastMiss || most < promptcache.Smallest {
		return nil
	}
	miss := &Miss{Tokens: most - read, Cause: c.causeOf(a, best, most, read)}
	if changed != nil && miss.Cause != MissTooShort {
		miss.Cause, miss.Place = MissChanged, a.sections[min(changedAt, len(a.sections)-1)].place
	}
	return miss
}

// could returns the tokens of an earlier prompt that the request could have read.
func (a *asked) could(p *pastPrompt) int64 { return min(p.total, a.total) / a.rule.Step * a.rule.Step }

// leastMiss is a step of automatic caches.
const leastMiss = 128

// isBetter reports whether an earlier prompt explains a miss better than another one that is as long: it was sent with
// the same key to the same model, else later.
func (a *asked) isBetter(p, than *pastPrompt) bool {
	if than == nil {
		return true
	}
	return a.isSame(p) || !a.isSame(than)
}

func (a *asked) isSame(p *pastPrompt) bool { return p.key == a.key && p.model == a.model }

// causeOf returns the cause of a miss of a prompt that begins as an earlier one.
func (c *promptCache) causeOf(a *asked, p *pastPrompt, could, read int64) MissCause {
	last, there := c.stored[p.end]
	switch {
	case could < a.rule.Least:
		return MissTooShort
	case p.model != a.model:
		return MissModel
	case p.key != a.key:
		return MissKey
	case a.rule.Marked && (read >= p.stored || a.marks == 0):
		return MissNoMark
	case there && !a.at.Before(last.until):
		return MissExpired
	case there: // too many blocks before the mark
		return MissNoMark
	}
	return MissUnknown
}

// remember adds a prompt to the earlier ones.
func (c *promptCache) remember(a *asked, from int) {
	p := &pastPrompt{sections: a.sections, total: a.total, key: a.key, model: a.model, at: a.at}
	if from >= 0 {
		p.stored, p.end = a.tokensTo(from), a.id(from)
	}
	for i := range a.prefixes {
		f := &a.prefixes[i]
		if (f.mark > 0 || !a.rule.Marked) && f.tokens >= a.rule.Least && f.tokens > p.stored {
			p.stored, p.end = f.tokens, a.id(i)
		}
	}
	if len(c.past) == maxPast {
		c.past = c.past[1:]
	}
	c.past = append(c.past, p)
}

func commonSections(a, b []section) (n int) {
	for n < len(a) && n < len(b) && a[n].hash == b[n].hash {
		n++
	}
	return n
}

// reappears reports whether at least half of the tokens behind the first section, which has changed, are in the new
// prompt.
func reappears(old, now []section) bool {
	there := map[uint64]bool{}
	for _, s := range now {
		there[s.hash] = true
	}
	var all, found int64
	for _, s := range old[1:] {
		if all += s.tokens; there[s.hash] {
			found += s.tokens
		}
	}
	return all > 0 && 2*found >= all
}
