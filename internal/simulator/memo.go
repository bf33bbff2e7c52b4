package simulator

import (
	"bytes"
	"net/http"
	"sync"

	"weir/internal/dialect"
	"weir/internal/llm"
)

// memo remembers plain answers, so that the simulator can be the upstream of load tests: they repeat the same request,
// and an answer depends only on its request.
type memo struct {
	mu      sync.RWMutex
	answers map[uint64]*memorized
}

// memorized is one answer and its request.
type memorized struct {
	dialect           *dialect.Dialect
	asked             asking
	request           []byte
	created           int64 // the second in the answer
	spec              *spec
	consumed          *answer
	output, reasoning int64
	told              *llm.Usage
	body              []byte
}

const (
	maxMemo    = 1024
	maxMemoLen = 8 << 10 // of a request, and of an answer
)

// asking holds the parts of a request other than its body and its key: some wire formats have the model or the stream
// flag in the path or in a header.
type asking struct{ path, rawPath, query, contentType, accept string }

func askingOf(r *http.Request) asking {
	return asking{r.URL.Path, r.URL.RawPath, r.URL.RawQuery, first(r.Header["Content-Type"]), first(r.Header["Accept"])}
}

func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

// find returns the answer to the same bytes in the same second, or nil.
func (m *memo) find(c *call) *memorized {
	m.mu.RLock()
	a := m.answers[c.asked]
	m.mu.RUnlock()
	if a == nil || a.dialect != c.d || a.asked != askingOf(c.r) || a.created != c.s.clock().Unix() ||
		!bytes.Equal(a.request, c.body) {
		return nil
	}
	return a
}

// keep remembers the answer if it is plain: no fault, no wait, no special form. It clears the memory when it is full.
func (m *memo) keep(c *call, reply *llm.Reply, body []byte) {
	s := c.spec
	plain := s.fault == nil && s.ttft == 0 && s.pace == 0 && s.seed == unset && s.chunk == unset && !s.bom &&
		s.usage == "" &&
		s.cost == unset && s.tier == ""
	if !plain || c.stream || max(len(c.body), len(body)) > maxMemoLen {
		return
	}
	a := &memorized{
		dialect: c.d, asked: askingOf(c.r), request: bytes.Clone(c.body),
		created: reply.Created, spec: s, told: &reply.Usage, body: bytes.Clone(body),
		// The counts, without the words.
		consumed: &answer{
			prompt: c.answer.prompt, cached: c.answer.cached, thinking: c.answer.thinking,
			choices: c.answer.choices, searches: c.answer.searches,
		},
	}
	a.output, a.reasoning = c.answer.made()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.answers == nil || len(m.answers) >= maxMemo {
		m.answers = map[uint64]*memorized{}
	}
	m.answers[c.asked] = a
}

// repeat sends a remembered answer.
func (c *call) repeat() {
	a := c.old
	c.entry.ask(a.spec.name, false)
	c.entry.consume(a.consumed)
	c.entry.pieces(a.output, a.reasoning)
	c.entry.begin(http.StatusOK)
	c.entry.settle(Served, a.told, "", false, c.s.clock())
	c.respond(http.StatusOK, "application/json", a.body)
}
