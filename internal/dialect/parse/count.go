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

// CachedSound is how many of the cached tokens of an input are of sound, at least and at most,
// where nobody tells. The fewer there are, the more the input costs: a cache saves more on
// sound than on text.
func CachedSound(cached, sound, input int64) (least, most int64) {
	cached, sound = min(cached, input), min(sound, input)
	return max(0, cached+sound-input), min(cached, sound)
}
