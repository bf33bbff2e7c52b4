package simulator

import (
	"sync"

	"weir/internal/dialect/rules"
	"weir/internal/llm"
)

// ruleCache remembers the rules of vendors. It clears itself when full, because names of vendors come from clients.
type ruleCache struct {
	mu   sync.Mutex
	sets map[[2]string]rules.Set // by the vendor and the wire format
}

const maxRuleSets = 64

func (c *ruleCache) get(vendor, format string) rules.Set {
	c.mu.Lock()
	defer c.mu.Unlock()
	name := [2]string{vendor, format}
	set, ok := c.sets[name]
	if ok {
		return set
	}
	if c.sets == nil || len(c.sets) >= maxRuleSets {
		c.sets = map[[2]string]rules.Set{}
	}
	set = rules.For(vendor, format)
	c.sets[name] = set
	return set
}

// obey refuses a chat that breaks a rule of the vendor, in the vendor's words.
func (c *call) obey() error {
	if !c.s.strict || c.o.Op != llm.OpChat {
		return nil
	}
	c.req.Model = c.spec.name
	if says := c.s.rules.get(c.spec.vendor, c.d.Name).Broken(c.req, c.body); says != "" {
		return llm.Invalid("", says)
	}
	return nil
}
