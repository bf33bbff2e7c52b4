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
	Wild bool // a count was impossible: nothing of the object is reliable
}

// Count reads a count, from 0 to MaxCount, into n and reports whether it was valid. For an invalid count, such as a
// string, it raises n to the upper bound of the value.
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

// atMost returns the upper bound of a number with a fraction or in a string; 0 for impossible values.
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

// Told returns an incomplete usage for llm.Reply.Most; nil if it has no counts or impossible ones.
func Told(u llm.Usage) *llm.Usage {
	if u.IsZero() || !u.Plausible() {
		return nil
	}
	return &u
}

// CachedSound returns the least and the most cached tokens that can be sound, for providers that do not report it.
// Fewer cached sound tokens mean a higher cost, because a cache saves more on sound than on text.
func CachedSound(cached, sound, input int64) (least, most int64) {
	cached, sound = min(cached, input), min(sound, input)
	return max(0, cached+sound-input), min(cached, sound)
}
