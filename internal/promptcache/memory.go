package promptcache

import (
	"container/list"
	"hash/maphash"
	"sync"
	"time"
)

// Sent is a chat that a provider has answered, with the input that it reports.
type Sent struct {
	Account      string
	Conversation uint64 // of the account; 0 for none
	Target       string // the provider and the model
	Key          int    // which of the provider's keys
	Rule         Rule
	Body         []byte // as the client sent it
	Sent         []byte // as the provider got it
	// Total is the input in tokens; Read and Written are the parts that were read from and stored in a cache.
	Total, Read, Written int64
	At                   time.Time
}

// Memory remembers the prompts of conversations for an hour at most, as keyed hashes of their messages, and finds what
// a request could have read from a cache. It is safe for concurrent use.
type Memory struct {
	seed maphash.Seed

	mu       sync.Mutex
	talks    map[talkID]*talk
	used     list.List // of *talk, the one used last in front
	accounts map[string]*account
	size     int
}

// Bounds of a memory. Its size counts hashes of 16 bytes.
const (
	keep         = time.Hour
	mostSize     = 1 << 20
	mostOfOne    = mostSize / 8 // of an account
	mostBranches = 8            // of a conversation
	mostEnds     = 64           // of a branch
	sizeOfTalk   = 16
	sizeOfEnd    = 6
)

type talkID struct {
	account      string
	conversation uint64
}

// account is what is remembered of an account.
type account struct {
	used list.List // of *talk, the one used last in front
	size int
}

// NewMemory returns an empty memory.
func NewMemory() *Memory {
	return &Memory{seed: maphash.MakeSeed(), talks: map[talkID]*talk{}, accounts: map[string]*account{}}
}

// Look compares a request with the earlier ones of its conversation, and remembers it. Prompts below Smallest are
// neither compared nor remembered. It returns what was missed.
func (m *Memory) Look(s *Sent) Miss {
	if s.Conversation == 0 || s.Total < Smallest {
		return Miss{}
	}
	sections := sectionsOf(m.seed, s.Body)
	if len(sections) == 0 {
		return Miss{}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.use(s)
	miss := t.miss(s, sections)
	before := t.size
	t.add(s, sections)
	m.grow(t, t.size-before)
	m.forgetSome(t)
	return miss
}

// use returns the request's conversation, which becomes the one used last. It forgets those that are too old.
func (m *Memory) use(s *Sent) *talk {
	for back := m.used.Back(); back != nil && s.At.Sub(back.Value.(*talk).at) > keep; back = m.used.Back() {
		m.forget(back.Value.(*talk))
	}
	id := talkID{s.Account, s.Conversation}
	t := m.talks[id]
	if t == nil {
		of := m.accounts[s.Account]
		if of == nil {
			of = &account{}
			m.accounts[s.Account] = of
		}
		t = &talk{id: id, of: of, size: sizeOfTalk}
		t.inAll, t.inOwn = m.used.PushFront(t), of.used.PushFront(t)
		m.talks[id] = t
		m.grow(t, sizeOfTalk)
	}
	t.at = s.At
	m.used.MoveToFront(t.inAll)
	t.of.used.MoveToFront(t.inOwn)
	return t
}

func (m *Memory) grow(t *talk, by int) {
	t.of.size += by
	m.size += by
}

// forgetSome forgets conversations, the one used longest ago first, until all bounds are kept. It does not forget t.
func (m *Memory) forgetSome(t *talk) {
	for oldest := t.of.used.Back(); t.of.size > mostOfOne && oldest != t.inOwn; oldest = t.of.used.Back() {
		m.forget(oldest.Value.(*talk))
	}
	for oldest := m.used.Back(); m.size > mostSize && oldest != t.inAll; oldest = m.used.Back() {
		m.forget(oldest.Value.(*talk))
	}
}

func (m *Memory) forget(t *talk) {
	m.grow(t, -t.size)
	m.used.Remove(t.inAll)
	t.of.used.Remove(t.inOwn)
	delete(m.talks, t.id)
	if t.of.used.Len() == 0 {
		delete(m.accounts, t.id.account)
	}
}
