package parse

import (
	"fmt"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// Bound is how many elements of a kind a request may have that is decoded, and how much
// memory each takes at most.
type Bound struct {
	What string   // for people
	Most int64    // in the whole request
	Size int64    // bytes of the tree
	In   []string // the members whose arrays hold them, in any case and without underscores
}

// Bounds are those of the elements that decoders build something of, the first of all others.
// Anthropic documents 100,000 messages (https://platform.claude.com/docs/en/api/messages,
// undated copy); other vendors document less, or nothing.
func Bounds() []Bound {
	return []Bound{
		{"elements of other arrays", 1 << 20, 64, nil},
		{"messages", 100_000, 1 << 10, []string{"messages", "input", "contents"}},
		{"content parts", 100_000, 1 << 10, []string{
			"content", "parts", "system", "prompt", "output",
			"systeminstruction",
		}},
		{"tool calls", 20_000, 1 << 10, []string{"toolcalls"}},
		{"tools", 20_000, 2 << 10, []string{"tools", "functions", "functiondeclarations"}},
		{"pieces of reasoning", 20_000, 1 << 10, []string{
			"reasoningdetails", "thinkingblocks", "thinking", "summary",
			"reasoning",
		}},
		{"images and documents beside the content", 20_000, 1 << 10, []string{"images", "documents"}},
	}
}

// maxMembers bounds the members of all objects of a request that is decoded, and memberSize
// is how many bytes of the tree each takes at most.
const (
	maxMembers = 1 << 19
	memberSize = 160
)

// Limiter holds Bounds in a form that is quick to ask.
type Limiter struct {
	bounds  []Bound
	classes map[string]int
	class   func(name []byte) int // classOf, made once
}

// NewLimiter makes one.
func NewLimiter() *Limiter {
	l := &Limiter{bounds: Bounds(), classes: map[string]int{}}
	for i, b := range l.bounds {
		for _, name := range b.In {
			l.classes[name] = i
		}
	}
	l.class = l.classOf
	return l
}

// Measure is how many bytes the tree of a body takes at most, which passed Scan. The error is
// an *llm.Error for a body with more elements than there may be.
func (l *Limiter) Measure(body []byte) (size int64, err error) {
	n := rawjson.Count(body, l.class, func(n rawjson.Counts) bool { return l.check(n) != nil })
	if err := l.check(n); err != nil {
		return 0, err
	}
	for i, b := range l.bounds {
		size += n.Elements[i] * b.Size
	}
	return size + n.Members*memberSize + int64(len(body)), nil
}

func (l *Limiter) check(n rawjson.Counts) error {
	for i, b := range l.bounds {
		if n.Elements[i] > b.Most {
			return tooMany(b.What, n.Elements[i], b.Most)
		}
	}
	if n.Members > maxMembers {
		return tooMany("members of objects", n.Members, maxMembers)
	}
	return nil
}

func tooMany(what string, n, most int64) error {
	return llm.Invalid("", fmt.Sprintf("The request has at least %d %s, and may have %d.", n, what, most))
}

// longestName is longer than every name of Bounds, with underscores.
const longestName = 32

func (l *Limiter) classOf(name []byte) int {
	var buf [longestName]byte
	plain := buf[:0]
	for _, c := range name[:min(len(name), longestName)] {
		switch {
		case c == '_':
		case 'A' <= c && c <= 'Z':
			plain = append(plain, c+'a'-'A')
		default:
			plain = append(plain, c)
		}
	}
	return l.classes[string(plain)]
}
