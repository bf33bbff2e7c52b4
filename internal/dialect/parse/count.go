package parse

import "weir/internal/rawjson"

// Counter reads the counts of one usage object.
type Counter struct {
	Wild bool // a count that no request can have: nothing of the object is to be believed
}

// Count reads a count, from 0 to MaxCount, into n and reports whether there was
// one.
func (c *Counter) Count(n *int64, v []byte) bool {
	if !rawjson.Present(v) {
		return false
	}
	got, ok := rawjson.AsInt(v)
	if !ok || got < 0 || got > MaxCount {
		c.Wild = true
		return false
	}
	*n = got
	return true
}
