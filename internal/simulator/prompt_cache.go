package simulator

import (
	"sync"
	"time"

	"weir/internal/llm"
	"weir/internal/promptcache"
)

// promptCache caches prompts as the vendors do, and gives an account of what it read, stored and missed. It is safe for
// concurrent use.
type promptCache struct {
	clock func() time.Time

	mu     sync.Mutex
	stored map[uint64]storedPrefix // by the hash of a key, a model and a prefix
	oldest []uint64                // the order of first storage
	past   []*pastPrompt           // the newest last

	contents map[string]content // stored by clients, by key and name
}

// storedPrefix is a prefix that is in the cache until a time.
type storedPrefix struct {
	until time.Time
	life  time.Duration
}

// Bounds of the memory of a prompt cache.
const (
	maxStored = 1 << 18 // prefixes
	maxPast   = 512     // earlier prompts
)

func newPromptCache(clock func() time.Time) *promptCache {
	return &promptCache{clock: clock, stored: map[uint64]storedPrefix{}}
}

// asked is a chat whose prompt may be cached.
type asked struct {
	*prompt
	rule  promptcache.Rule
	cache uint64 // the key, the model and the client's name of the cache
	key   string // the fingerprint of the key
	model string
	at    time.Time
}

// cached is the cache's part in an answer.
type cached struct {
	read, written, writtenHour int64 // tokens
	miss                       *Miss
}

// use reads a prompt from the cache as far as possible, and stores it.
func (c *promptCache) use(a *asked) (used cached) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a.at = c.clock()
	from := c.find(a)
	used.read = a.tokensTo(from)
	used.miss = c.account(a, used.read)
	c.remember(a, from)
	used.written, used.writtenHour = c.store(a, from)
	return used
}

// tokensTo returns the tokens of the prefix with that index; 0 for -1.
func (p *prompt) tokensTo(i int) int64 {
	if i < 0 {
		return 0
	}
	return p.prefixes[i].tokens
}

// find returns the index of the longest stored prefix that the request may read; -1 for none.
func (c *promptCache) find(a *asked) int {
	left := 0 // how many more blocks a mark looks back over
	for i := len(a.prefixes) - 1; i >= 0; i-- {
		if a.prefixes[i].mark > 0 {
			left = a.rule.LookBack
		}
		if a.rule.Marked && left == 0 {
			continue
		}
		left--
		if a.prefixes[i].tokens < a.rule.Least {
			break
		}
		if s, ok := c.stored[a.id(i)]; ok && a.at.Before(s.until) {
			return i
		}
	}
	return -1
}

// id identifies a prefix in one cache.
func (a *asked) id(i int) uint64 { return mix(a.cache ^ mix(a.prefixes[i].hash)) }

// store stores the prompt, or its prefixes up to marks, and returns the tokens that were not stored before: with the
// usual lifetime, and for an hour. A mark for an hour pays for all up to it.
func (c *promptCache) store(a *asked, from int) (written, hour int64) {
	if from >= 0 {
		c.keep(a, from, c.stored[a.id(from)].life)
	}
	paid := a.tokensTo(from)
	for i := range a.prefixes {
		p := &a.prefixes[i]
		life := p.mark
		if !a.rule.Marked {
			life = a.rule.Lifetime
		}
		if life == 0 || p.tokens < a.rule.Least {
			continue
		}
		c.keep(a, i, life)
		if n := p.tokens - paid; n > 0 && a.rule.Writes {
			if paid = p.tokens; life == promptcache.Long {
				hour += n
			} else {
				written += n
			}
		}
	}
	return written, hour
}

// keep stores a prefix, or begins its lifetime again. It forgets the oldest one if there are too many.
func (c *promptCache) keep(a *asked, i int, life time.Duration) {
	id := a.id(i)
	if _, ok := c.stored[id]; !ok {
		if len(c.oldest) >= maxStored {
			delete(c.stored, c.oldest[0])
			c.oldest = c.oldest[1:]
		}
		c.oldest = append(c.oldest, id)
	}
	c.stored[id] = storedPrefix{a.at.Add(life), life}
}

// clear forgets everything.
func (c *promptCache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.stored)
	c.oldest, c.past, c.contents = nil, nil, nil
}

// checkMarks refuses a request with more marks than the vendor takes, or with a mark for an hour behind a shorter one.
func (a *asked) checkMarks() error {
	if !a.rule.Marked {
		return nil
	}
	if a.marks > a.rule.MostMarks {
		return llm.Errorf(llm.CodeInvalidRequest, "A maximum of %d blocks with cache_control may be provided. "+
			"Found %d.", a.rule.MostMarks, a.marks)
	}
	isShort := false
	for i := range a.prefixes {
		life := a.prefixes[i].mark
		if isShort && life == promptcache.Long {
			return llm.Errorf(llm.CodeInvalidRequest,
				"A cache_control block with ttl='1h' must not come after one with ttl='5m'.")
		}
		isShort = isShort || life == promptcache.Short
	}
	return nil
}

// askCache prepares the call for the prompt cache, if the simulator and the wire format have one.
func (c *call) askCache() error {
	rule, is := promptcache.RuleOf(c.d.Name, c.spec.name)
	if c.s.cache == nil || !is || c.o.Op != llm.OpChat || c.spec.prompt != unset || c.spec.cached > 0 {
		return nil
	}
	if one, names, err := c.s.cache.named(c.key, c.req); names || err != nil {
		c.content = one.tokens
		return err
	}
	perMedia := c.spec.files
	if perMedia == unset {
		perMedia = tokensPerMedia
	}
	p := promptOf(c.req, &rule, perMedia, c.d.Name == "openai")
	a := &asked{prompt: p, rule: rule, key: c.key, model: c.spec.name}
	a.cache = hashText(hashText(hashText(c.s.seed, c.key), c.spec.name), c.d.Name)
	if at := c.head.Conversation.CacheKey; at.Present() && !rule.Marked {
		a.cache = hashText(a.cache, c.body[at.Start:at.End])
	}
	c.asks = a
	return a.checkMarks()
}

// cachePrompt reads the prompt of an answer from the cache, and stores it.
func (c *call) cachePrompt() {
	if c.content > 0 {
		c.answer.prompt += c.content
		c.answer.cached = c.content
	}
	if c.asks == nil {
		return
	}
	used := c.s.cache.use(c.asks)
	c.answer.cached, c.answer.written, c.answer.writtenHour = used.read, used.written, used.writtenHour
	c.entry.miss(used.miss)
}
