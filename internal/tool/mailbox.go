package tool

import "sync"

// maxNotes bounds the notes that wait for one listener.
const maxNotes = 1000

// Note says that a list or a resource has changed.
type Note struct {
	Method string // of the notification
	URI    string // of a resource that has changed; empty for a list
}

// mailbox holds notes until they are taken, each only once. It has a bound, so that nobody waits for a slow listener.
type mailbox struct {
	signal chan struct{} // has an element while there are notes

	mu    sync.Mutex
	notes []Note
	there map[Note]bool
}

func newMailbox() *mailbox { return &mailbox{signal: make(chan struct{}, 1), there: map[Note]bool{}} }

// put adds a note.
func (m *mailbox) put(n Note) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.there[n] || len(m.notes) == maxNotes {
		return
	}
	m.there[n], m.notes = true, append(m.notes, n)
	select {
	case m.signal <- struct{}{}:
	default:
	}
}

// take returns the notes, and removes them.
func (m *mailbox) take() []Note {
	m.mu.Lock()
	defer m.mu.Unlock()
	notes := m.notes
	m.notes = nil
	clear(m.there)
	return notes
}
