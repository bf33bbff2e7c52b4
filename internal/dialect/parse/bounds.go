package parse

import (
	"fmt"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// Bound limits the number of elements of a kind in a decoded request, and states the memory that each takes at most.
type Bound struct {
	What string   // for people
	Most int64    // elements in the whole request
	Size int64    // bytes of memory in the tree
	In   []string // the members whose arrays hold them, in lower case and without underscores
}

// Bounds returns the bounds of the elements that decoders allocate memory for; the first covers all other elements.
// Anthropic documents 100,000 messages (https://platform.claude.com/docs/en/api/messages, undated copy); other
// vendors document fewer, or no bound.
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
		{"images and documents outside the content", 20_000, 1 << 10, []string{"images", "documents"}},
	}
}

// maxMembers bounds the members of all objects of a decoded request; memberSize is the memory that each takes at
// most, in bytes.
const (
	maxMembers = 1 << 19
	memberSize = 160
)

// Limiter holds Bounds in a form for fast lookups.
type Limiter struct {
	bounds  []Bound
	classes map[string]int
	class   func(name []byte) int // classOf, made once
}

// NewLimiter returns a Limiter for Bounds.
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

// Measure returns an upper bound of the memory for the tree of a body, in bytes. The body must have passed Scan. The
// error is an *llm.Error for a body with too many elements.
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
	return llm.Invalid("", fmt.Sprintf("The request has at least %d %s; the maximum is %d. Send fewer.", n, what, most))
}

// longestName exceeds the length of every name of Bounds, with underscores.
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
