package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"weir/internal/conversation"
	"weir/internal/stored"
)

const (
	// togetherMost and togetherBytes bound the responses in one transaction, by number and bytes. A single response
	// may be larger.
	togetherMost  = 64
	togetherBytes = 4 << 20
	// gatherTime is how long the next writer waits at most for others, until there are as many as in the last group.
	// At that rate it would otherwise wait for the database's writer. Each probeEach-th group waits for the whole
	// time.
	gatherTime = 3 * time.Millisecond
	probeEach  = 16
	// togetherTime bounds that transaction, which does not end with the request of one of its clients.
	togetherTime = 5 * time.Second
)

// together stores responses that arrive at the same time by one transaction. The first one writes for all that wait
// by then, and the first of those that arrive meanwhile writes next. Clients that send their next request as soon as
// they have an answer arrive as a group again.
type together struct {
	mu      sync.Mutex
	busy    bool // a writer is running or has been chosen
	waiting []*keeping
	groups  int       // written so far
	last    int       // size of the last one
	ended   time.Time // when the last one was written
	// wanted is how many must wait before the gathering writer continues; enough is closed then. It is 0 if no writer
	// gathers.
	wanted int
	enough chan struct{}
}

// keeping is a response to be stored.
type keeping struct {
	*conversation.Record
	size int64
	next chan struct{} // receives a value when this one must write
	done chan struct{} // closed when it is written
	err  error         // valid when done is closed
}

// keep calls write for the response, together with others, and returns its result.
func (t *together) keep(ctx context.Context, k *keeping, write func(context.Context, []*keeping)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t.mu.Lock()
	t.waiting = append(t.waiting, k)
	if !t.busy {
		t.busy = true
		k.next <- struct{}{}
	}
	if t.wanted > 0 && len(t.waiting) >= t.wanted {
		t.wanted = 0
		close(t.enough)
	}
	t.mu.Unlock()
	select {
	case <-k.done:
		return k.err
	case <-k.next:
	case <-ctx.Done():
		if t.giveUp(k) {
			return ctx.Err()
		}
		<-k.done // at most togetherTime: it is being written
		return k.err
	}
	t.gather()
	group := t.take()
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), togetherTime)
	defer cancel()
	write(within, group)
	for _, one := range group {
		close(one.done)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last, t.ended = len(group), time.Now()
	t.pass()
	return k.err
}

// gather waits until as many wait as in the last group, but at most gatherTime, and not at all if the last group was
// longer ago. Each probeEach-th group waits for more, in case the number of clients has grown.
func (t *together) gather() {
	t.mu.Lock()
	want := t.last
	if t.groups++; t.groups%probeEach == 0 && want > 1 {
		want = togetherMost
	}
	if len(t.waiting) >= want || time.Since(t.ended) > gatherTime {
		t.mu.Unlock()
		return
	}
	enough := make(chan struct{})
	t.wanted, t.enough = want, enough
	t.mu.Unlock()
	timer := time.NewTimer(gatherTime)
	defer timer.Stop()
	select {
	case <-enough:
	case <-timer.C:
	}
}

// pass makes the first waiting one the next writer.
func (t *together) pass() {
	if t.busy = len(t.waiting) > 0; t.busy {
		t.waiting[0].next <- struct{}{}
	}
}

// take removes and returns the group to be written now.
func (t *together) take() []*keeping {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wanted = 0
	n, bytes := 0, int64(0)
	for n < min(len(t.waiting), togetherMost) && (n == 0 || bytes+t.waiting[n].size <= togetherBytes) {
		bytes += t.waiting[n].size
		n++
	}
	group := slices.Clone(t.waiting[:n])
	t.waiting = slices.Delete(t.waiting, 0, n)
	return group
}

// giveUp removes a response from the waiting ones because its client has left, and reports whether it was waiting.
func (t *together) giveUp(k *keeping) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.Index(t.waiting, k)
	if i < 0 {
		return false
	}
	t.waiting = slices.Delete(t.waiting, i, i+1)
	select {
	case <-k.next:
		t.pass()
	default:
	}
	return true
}

var (
	insertResponses = &insertion{
		head: "INSERT INTO responses (id, account, scope, previous, created, expires, sealed, size)" +
			" VALUES ", columns: 8,
		tail: " ON CONFLICT (id) DO NOTHING",
	}
	insertItems = &insertion{
		head: "INSERT INTO response_items (item, response) VALUES ", columns: 2,
		tail: " ON CONFLICT (item, response) DO NOTHING",
	}
)

// errKeptBefore means that a response with the same id exists.
var errKeptBefore = errors.New("a response with the same id exists")

// writeTogether stores responses in one transaction if possible, and the others one by one.
func (s *Kept) writeTogether(ctx context.Context, group []*keeping) {
	slices.SortStableFunc(group, func(a, b *keeping) int { return strings.Compare(a.Account, b.Account) })
	var alone []*keeping
	err := s.writeFast(ctx, "keep responses", func(tx *sql.Tx) (err error) {
		alone = alone[:0]
		var fit []*keeping
		for rest := group; len(rest) > 0; {
			n, size := 0, int64(0)
			for n < len(rest) && rest[n].Account == rest[0].Account {
				size += rest[n].size
				n++
			}
			switch err := s.enter(ctx, tx, rest[0].Account, stored.Response, int64(n), size); {
			case err == nil:
				fit = append(fit, rest[:n]...)
			case errors.Is(err, stored.OverQuota): // some of them may fit
				alone = append(alone, rest[:n]...)
			default:
				return err
			}
			rest = rest[n:]
		}
		return s.insertResponses(ctx, tx, fit)
	})
	if err != nil {
		alone = group
	}
	for _, k := range alone {
		k.err = s.keepAlone(ctx, k)
	}
}

func (s *Kept) insertResponses(ctx context.Context, tx *sql.Tx, list []*keeping) error {
	n, err := s.insertRows(ctx, tx, insertResponses, len(list), func(dst []any, i int) []any {
		r := list[i]
		return append(dst, r.ID, r.Account, r.Scope, r.Previous, micros(r.Created), micros(r.Expires), r.Sealed, r.size)
	})
	if err != nil {
		return err
	}
	if n < int64(len(list)) {
		return errKeptBefore
	}
	var items [][2]string
	for _, r := range list {
		for _, item := range r.Items {
			items = append(items, [2]string{item, r.ID})
		}
	}
	// The same lock order everywhere.
	slices.SortFunc(items, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	_, err = s.insertRows(ctx, tx, insertItems, len(items), func(dst []any, i int) []any {
		return append(dst, items[i][0], items[i][1])
	})
	return err
}

// insertRows inserts n rows in a transaction of writeFast, and returns how many rows were added. If there is one
// writer, the statements stay prepared.
func (s *Kept) insertRows(ctx context.Context, tx *sql.Tx, in *insertion, n int, bind func(dst []any, row int) []any) (
	touched int64, err error,
) {
	if !s.engine.manyWriters {
		return s.bulk.insert(ctx, in, n, bind)
	}
	for done := 0; done < n; {
		size := rowsAtOnce(n - done)
		args := make([]any, 0, size*in.columns)
		for i := range size {
			args = bind(args, done+i)
		}
		result, err := tx.ExecContext(ctx, in.sql(size), args...)
		if err != nil {
			return touched, err
		}
		some, err := result.RowsAffected()
		if err != nil {
			return touched, err
		}
		touched += some
		done += size
	}
	return touched, nil
}
