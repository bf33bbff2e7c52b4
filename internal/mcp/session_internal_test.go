package mcp

import (
	"strconv"
	"testing"
)

// TestSessionsOfOneCallerDoNotDisplaceOthers begins sessions under more ids than a server has places for.
func TestSessionsOfOneCallerDoNotDisplaceOthers(t *testing.T) {
	t.Parallel()
	c := &Client{slots: map[string]*slot{"bob ": {}, "bob key_1 c e": {}}}
	for i := range 10 * maxSessions {
		c.makeRoom()
		c.slots["ann key_2 "+strconv.Itoa(i)+" e"] = &slot{}
	}
	if c.slots["bob "] == nil || c.slots["bob key_1 c e"] == nil || len(c.slots) != maxSessions {
		t.Errorf("%d sessions, want %d with both of bob", len(c.slots), maxSessions)
	}
}
