package parse

import (
	"math"
	"strconv"
	"strings"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// Counter reads the counts of one usage object.
type Counter struct {
	Wild bool // a count that no request can have: nothing of the object is to be believed
}

// Count reads a count, from 0 to MaxCount, into n and reports whether there was
// one. Of a number that is no count, such as one in a string, n is what it comes to at most.
func (c *Counter) Count(n *int64, v []byte) bool {
	if !rawjson.Present(v) {
		return false
	}
	got, ok := rawjson.AsInt(v)
	if !ok || got < 0 || got > MaxCount {
		c.Wild = true
		*n = max(*n, atMost(v))
		return false
	}
	*n = got
	return true
}

// atMost is what a number with a fraction, or in a string, comes to at most; 0 of what no request can have.
func atMost(v []byte) int64 {
	s := string(v)
	if t, ok := rawjson.AsString(v); ok {
		s = strings.TrimSpace(t)
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil && f > 0 && f <= MaxCount {
		return int64(math.Ceil(f))
	}
	return 0
}

// Told is what could be read of counts that are not all there, as in llm.Reply; nil for nothing.
func Told(u llm.Usage) *llm.Usage {
	if u.IsZero() || !u.Plausible() {
		return nil
	}
	return &u
}

// CachedSound is how many of the cached tokens of an input are of sound, at least and at most,
// where nobody tells. The fewer there are, the more the input costs: a cache saves more on
// sound than on text.
func CachedSound(cached, sound, input int64) (least, most int64) {
	cached, sound = min(cached, input), min(sound, input)
	return max(0, cached+sound-input), min(cached, sound)
}
