package openai

// choices is a set of an answer's choices, by index. An array of bools would take 128 bytes of each stream.
type choices [maxChoices / 64]uint64

func (c *choices) has(index int) bool { return c[index/64]&(1<<(index%64)) != 0 }
func (c *choices) add(index int)      { c[index/64] |= 1 << (index % 64) }
