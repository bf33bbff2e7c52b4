package conversation

import "sync"

// mostRemembered is how many responses a memory has at most.
const mostRemembered = 1024

// itemBytes is the size of an item in bytes beyond its text, a string and a slice: an input may have a million empty
// ones.
const itemBytes = 40

// Memory holds the responses of one connection, stored or not, so that later requests on it can continue from them
// (https://developers.openai.com/api/docs/guides/websocket-mode, undated copy). It is lost with the connection. When
// it is full, it forgets the responses of the conversation that was continued longest ago. A nil one holds nothing.
type Memory struct {
	most  int64 // bytes
	take  func(n int64) bool
	free  func(n int64)
	mu    sync.Mutex
	bytes int64
	uses  int64 // continued conversations
	by    map[string]*remembered
}

// remembered is a response in a memory.
type remembered struct {
	content
	name string // its stored name
	size int64  // bytes of its text
	held int64  // bytes of memory
	used int64  // the number of Memory.uses when a request last continued from it or a later one
}

// NewMemory returns a memory of up to most bytes. Take reserves bytes and reports whether there was room, and free
// returns them.
func NewMemory(most int64, take func(n int64) bool, free func(n int64)) *Memory {
	return &Memory{most: most, take: take, free: free, by: map[string]*remembered{}}
}

// Forget empties the memory.
func (m *Memory) Forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.free(m.bytes)
	m.bytes, m.by = 0, map[string]*remembered{}
}

// add remembers a response, unless there is no room. It copies the content.
func (m *Memory) add(o *Owner, id string, c content) {
	if m == nil {
		return
	}
	text := c.encode()
	r := &remembered{content: decodeContent(text), name: o.name(id), size: int64(len(text))}
	r.held = r.size + int64(cap(r.input))*itemBytes
	for _, it := range r.input {
		r.held += int64(len(it.id))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drop(id)
	for len(m.by) > 0 && (len(m.by) >= mostRemembered || m.bytes+r.held > m.most) {
		m.dropOldest()
	}
	if r.held > m.most || !m.take(r.held) {
		return
	}
	m.uses++
	r.used = m.uses
	m.bytes += r.held
	m.by[id] = r
}

func (m *Memory) dropOldest() {
	oldest := ""
	for id, r := range m.by {
		if oldest == "" || r.used < m.by[oldest].used {
			oldest = id
		}
	}
	m.drop(oldest)
}

func (m *Memory) drop(id string) {
	if r := m.by[id]; r != nil {
		delete(m.by, id)
		m.bytes -= r.held
		m.free(r.held)
	}
}

// chain returns a response and its predecessors in the memory, newest first; none if it is not there.
func (m *Memory) chain(id string) (list []*remembered) {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.uses++
	for r := m.by[id]; r != nil && len(list) <= maxTurns; r = m.by[r.previous] {
		r.used = m.uses
		list = append(list, r)
	}
	return list
}
