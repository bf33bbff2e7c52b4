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
	"weir/internal/kept"
)

const (
	// togetherMost and togetherBytes are how many responses are kept by one transaction at most, and how
	// many bytes, unless one alone has more.
	togetherMost  = 64
	togetherBytes = 4 << 20
	// gatherTime is how long whoever writes next waits at most for others, until there are as many as were written
	// last: they come in such numbers that it would wait for the writer otherwise.
	gatherTime = 3 * time.Millisecond
	probeEach  = 16
	// togetherTime is how long that transaction may take: it does not end with one of its clients.
	togetherTime = 5 * time.Second
)

// together keeps responses that come at the same time by one transaction: whoever comes first writes
// for all who wait by then, and the first of those who come meanwhile writes next. Clients that ask again as soon as they
// have an answer come as a group again.
type together struct {
	mu      sync.Mutex
	busy    bool // somebody writes, or has been told to
	waiting []*keeping
	groups  int       // that were written
	last    int       // how many were in the last one
	ended   time.Time // when that was
	// wanted is how many must wait for whoever gathers to go on, and enough is told so; 0 while nobody gathers.
	wanted int
	enough chan struct{}
}

// keeping is a response that is to be kept.
type keeping struct {
	*conversation.Record
	size int64
	next chan struct{} // has one element when it is this one's turn to write
	done chan struct{} // closed when it was written
	err  error         // then
}

// keep has write called for the response, with others, and returns what became of it.
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
		<-k.done // within togetherTime: it is being written
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

// gather waits until as many wait as were written last, but not long, and not at all when that is long ago.
// One group of probeEach waits for all who come in that time, as more may have come since.
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

// pass tells the next one to write.
func (t *together) pass() {
	if t.busy = len(t.waiting) > 0; t.busy {
		t.waiting[0].next <- struct{}{}
	}
}

// take is who is written for now.
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

// giveUp takes one that nobody waits for any more out of those that wait, and reports whether it was among them.
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
		head: "INSERT INTO responses (id, account, scope, previous, created, expires, sealed, size) VALUES ", columns: 8,
		tail: " ON CONFLICT (id) DO NOTHING",
	}
	insertItems = &insertion{
		head: "INSERT INTO response_items (item, response) VALUES ", columns: 2,
		tail: " ON CONFLICT (item, response) DO NOTHING",
	}
)

// errKeptBefore says that some response has the place of one with the same id.
var errKeptBefore = errors.New("a response with the same id is kept")

// writeTogether keeps responses, by one transaction where nothing is in the way, and those of which something is
// one by one.
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
			switch err := s.enter(ctx, tx, rest[0].Account, kept.Response, int64(n), size); {
			case err == nil:
				fit = append(fit, rest[:n]...)
			case errors.Is(err, kept.OverQuota): // for some of them there may be room
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
	slices.SortFunc(items, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) }) // in one order, as everybody does
	_, err = s.insertRows(ctx, tx, insertItems, len(items), func(dst []any, i int) []any {
		return append(dst, items[i][0], items[i][1])
	})
	return err
}

// insertRows inserts n rows in a transaction of writeFast, and returns how many there are more. Where
// there is one writer, the statements stay prepared.
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
