package ledger

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/google/uuid"
)

// NewID returns the id of a request: a UUID of version 7 (RFC 9562, 5.7). Its time is that of Now, because requests are
// looked up by date and id. The random part comes from the runtime's ChaCha8: an id is no secret.
func (l *Ledger) NewID() (id uuid.UUID) {
	now := l.Now()
	fraction := uint64(now.Nanosecond()%1e6) << 12 / 1e6 // of the millisecond: ids are in the order of time
	binary.BigEndian.PutUint64(id[:], uint64(now.UnixMilli())<<16|7<<12|fraction)
	binary.BigEndian.PutUint64(id[8:], rand.Uint64()>>2|1<<63)
	return id
}

// NewIDOf returns the id of the nth request of a WebSocket. It ends like the WebSocket's id, so that the requests of a
// WebSocket are found by it.
func (l *Ledger) NewIDOf(socket uuid.UUID, n int64) uuid.UUID {
	id := l.NewID()
	copy(id[8:], socket[8:])
	id[6], id[7] = id[6]&0xf0|byte(n>>8)&0x0f, byte(n)
	return id
}
