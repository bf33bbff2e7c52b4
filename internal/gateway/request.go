package gateway

import (
	"fmt"
	"net/http"
	"runtime/debug"

	"weir/internal/llm"
)

// request is one request of a client, from its arrival to its end.
type request struct {
	in       intake
	x        exchange
	panicked bool
}

// keepOwn is the largest buffer, in bytes, that a request's memory keeps for the next request.
const keepOwn = 16 << 10

// reset prepares the memory of a request that has ended for another one. It overwrites all that it held, so that a late
// reader finds nothing of it.
func (q *request) reset() {
	sent, received := emptied(q.x.choice.room), emptied(q.x.room)
	*q = request{}
	q.x.choice.room, q.x.room = sent, received
}

// emptied overwrites a buffer and returns it without its content; nil if it has grown beyond keepOwn.
func emptied(buf []byte) []byte {
	if clear(buf); cap(buf) > keepOwn {
		return nil
	}
	return buf[:0]
}

// handle runs the request. It is the only function that turns an error into a reply and logs it.
func (q *request) handle() {
	defer q.finish()
	defer q.recoverPanic()
	err := q.run()
	if err != nil {
		q.fail(err)
	}
	q.x.out.abortBroken(err)
}

// run takes the request through the pipeline up to the relay of its answer (see ARCHITECTURE.md). An error means that
// no byte of an answer has been sent.
func (q *request) run() error {
	if err := q.in.build(); err != nil {
		return err
	}
	if q.in.loops {
		return q.runTools()
	}
	if answered, err := q.answerHere(); err != nil || answered {
		return err
	}
	return q.x.forward()
}

// answerHere answers a request that needs no provider: by a local count of tokens, a stored reply, the late answer of
// an earlier request, or a stored answer. It reports whether it has.
func (q *request) answerHere() (answered bool, err error) {
	in := &q.in
	if in.message != nil && in.message.Prepares {
		q.prepared()
		return true, nil
	}
	if in.Op.Op == llm.OpCountTokens && !offers(&in.Request, &in.targets[0]) {
		return true, q.countHere()
	}
	claim, reply, done, err := in.claim()
	switch {
	case err != nil:
		return false, err
	case done:
		return true, q.replay(claim, reply)
	}
	q.x.idem = claim
	late, err := in.server.late.answer(in)
	if err == nil && late != nil {
		return true, q.x.sendLate(late)
	}
	if err != nil || in.server.answers == nil {
		return false, err
	}
	return q.fromCache()
}

// finish releases everything that the request holds, however it ended.
func (q *request) finish() {
	defer q.leave() // last, because a stop then closes the ledger and the database
	q.x.end()
}

// isUnshared reports whether nothing else refers to a request that has ended: it has no late attempt, no goroutine was
// told that its client has left, and its hold was settled.
func (q *request) isUnshared() bool {
	return !q.panicked && q.x.late.shared == nil && !q.x.reading.isFollowed() && q.x.hold.IsFree()
}

// leave frees the pipeline slot and counts the request.
func (q *request) leave() {
	in, late := &q.in, q.x.late.shared
	q.x.measured.done(in)
	switch {
	case !in.held.IsAdmitted():
	case late == nil:
		in.server.capacity.Leave(in.held.Account(), in.held.Priority())
	default:
		limited, node, account, priority := in.limited, in.server.capacity, in.held.Account(), in.held.Priority()
		late.end = func(used int64) {
			limited.Settle(used)
			node.Leave(account, priority)
		}
		late.leave(q.x.spent.tokens)
	}
}

// recoverPanic isolates a panic of one request from all others.
func (q *request) recoverPanic() {
	p := recover()
	switch p {
	case nil:
	case http.ErrAbortHandler:
		panic(p) // net/http's signal to abort a connection
	default:
		q.panicked = true
		err := fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		q.fail(err)
		q.x.out.abortBroken(err)
	}
}
