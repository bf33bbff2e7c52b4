package gateway

import (
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/google/uuid"

	"weir/internal/account"
	"weir/internal/budget"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/quote"
	"weir/internal/ratelimit"
	"weir/internal/route"
)

// call is one request on its way through the pipeline.
type call struct {
	quote.Request
	server     *Server
	w          http.ResponseWriter
	r          *http.Request
	permission account.Permission
	started    time.Time
	id         requestID
	measured   measured
	client     client
	held       capacity

	principal *account.Principal
	token     string                // empty for one who is known without
	pooled    *[]byte               // where the body belongs
	tree      tree                  // of the body
	own       ownFields             // of the body, which no provider gets to see
	kept      *keeping              // nil for nothing
	idem      *idempotent           // nil without an Idempotency-Key
	limited   ratelimit.Reservation // what it has taken of limits

	table   *route.Table
	targets []route.Target
	one     [1]route.Target // room for targets, which is nearly always enough
	plan    route.Plan

	reservation *budget.Reservation // for the attempt that is to be opened; nil without a budget
	attempt     *attempt            // the one under way, or the last one; nil before the first
	first       attempt             // room for it, likewise
	spent       spent               // by all attempts
	late        lateAttempts
	upstream    reading
	out         *clientStream // nil where no stream was begun
	rescue      rescue
}

// requestID is a request's, and as it is written.
type requestID struct {
	uuid.UUID
	text string
}

// errGone is a client that left: there is nobody to tell.
var errGone = errors.New("gateway: the client left")

// handle is the one place that turns an error into a reply and logs it.
func (c *call) handle() {
	id := c.server.ledger.NewID()
	c.id = requestID{id, id.String()}
	defer c.finish()
	defer c.recoverPanic()
	err := c.run()
	if err != nil {
		c.fail(err)
	}
	c.out.abortBroken(err)
}

// run takes the request through the pipeline, up to the stage in which its answer is relayed
// (see ARCHITECTURE.md). An error means that no byte of an answer has gone out yet.
func (c *call) run() error {
	if err := c.authenticate(); err != nil {
		return err
	}
	if err := c.readBody(); err != nil {
		return err
	}
	if c.token != "" && c.measured.read.Sub(c.started) >= oldKey { // it may have been revoked meanwhile
		if err := c.authenticate(); err != nil {
			return err
		}
	}
	if err := c.scan(); err != nil {
		return err
	}
	if err := c.route(); err != nil {
		return err
	}
	if err := c.reserveLimits(); err != nil {
		return err
	}
	answered, err := c.check()
	if err != nil || answered {
		return err
	}
	return c.forward()
}

// finish gives back what the call holds, whatever became of it.
func (c *call) finish() {
	defer c.leave() // last: a stop closes the ledger and the database then
	defer c.upstream.endDeparture(c.server)
	defer c.upstream.endDrain(c.server)
	c.releaseReservation()
	c.abandonHold()
	c.server.late.forget(c.late.answers)
	c.readLate(c.spent.reached)
	c.settleLimits()
	c.idem.release()
	c.releaseBody()
	c.held.endAnswer()
}

// leave gives the place back and counts the request.
func (c *call) leave() {
	c.measured.done(c.server, c.started)
	switch {
	case !c.held.admitted:
	case c.late.shared == nil:
		c.server.leave(c.held.account, c.held.priority())
	default:
		limited, server, account, priority := c.limited, c.server, c.held.account, c.held.priority()
		c.late.shared.end = func(used int64) {
			limited.Settle(used)
			server.leave(account, priority)
		}
		c.late.shared.leave(c.spent.tokens)
	}
}

// recoverPanic keeps a defect in one request from being noticed by others.
func (c *call) recoverPanic() {
	p := recover()
	switch p {
	case nil:
	case http.ErrAbortHandler:
		panic(p) // net/http's own way of giving up a connection
	default:
		err := fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		c.fail(err)
		c.out.abortBroken(err)
	}
}

// authenticate lets the request in, finds out who calls and whether they may, and takes a place
// of their account's share.
//
// Stage 2: authenticate.
func (c *call) authenticate() error {
	again := c.held.admitted
	if !again {
		if err := c.held.enter(); err != nil {
			return err
		}
	}
	if c.principal == nil || again { // else somebody else found out
		token, err := account.Token(c.r.Header, c.Dialect.KeyHeaders...)
		if err != nil {
			return err
		}
		c.token = token
		if c.principal, err = c.server.accounts.Authenticate(c.r.Context(), token); err != nil {
			return err
		}
	}
	if err := c.principal.May(c.permission); err != nil {
		return err
	}
	if again {
		return nil
	}
	return c.held.takeShare(c.principal.Account().ID)
}

// oldKey is how long ago a key may have been looked at when its request goes on.
const oldKey = time.Second

// check leaves out the targets that cannot take the request, and decodes the body where
// somebody will have to translate it, so that a mistake in it is found before anything is
// opened in the ledger. It reports whether the request has been answered: by a reply that was
// kept, or here.
//
// Stage 7: check.
func (c *call) check() (answered bool, err error) {
	work := len(c.Body)
	if c.translates() {
		work = treeWork(c.Body)
	}
	err = c.held.inTurn(work, func() error {
		if c.narrow(); !c.translates() {
			return nil
		}
		_, err := c.Tree()
		return err
	})
	if err != nil {
		return false, err
	}
	if c.Op.Op == llm.OpCountTokens && !c.offers(&c.targets[0]) {
		return true, c.countHere()
	}
	if replayed, err := c.beginIdempotent(); err != nil || replayed {
		return replayed, err
	}
	return c.server.late.answer(c)
}

// tree is the body's tree.
type tree struct {
	request *llm.Request // once somebody asked for it
	size    int64        // bytes that count for it
	called  llm.Called   // how calls in a translated answer are named back; it outlives the rest
}

// errNoTree is a request that nobody has to understand.
var errNoTree = errors.New("gateway: the body is not translated")

// Tree is the body's tree. What it takes at most counts among the bodies in flight before it
// is built.
func (c *call) Tree() (*llm.Request, error) {
	if c.tree.request != nil {
		return c.tree.request, nil
	}
	if c.Op.DecodeRequest == nil {
		return nil, errNoTree
	}
	size, err := c.server.bounds.Measure(c.Body)
	if err != nil {
		return nil, err
	}
	if err := c.held.reserve(size); err != nil {
		return nil, err
	}
	c.tree.size += size
	c.tree.request, err = c.Op.DecodeRequest(c.Body)
	return c.tree.request, err
}

// Step does work on so many bytes when it is its turn.
func (c *call) Step(size int, work func()) { c.held.step(size, work) }

// dropTree gives back what the tree takes. It is decoded again where it is asked for again.
func (c *call) dropTree() {
	c.held.giveBack(c.tree.size)
	c.tree = tree{called: c.tree.called}
}

// spent is what the attempts of a request used.
type spent struct {
	tokens  int64
	money   llm.Money
	priced  bool     // all of them had a price
	models  []string // of all of them, in their order
	reached bool     // some attempt reached its provider
	counted bool     // some provider was asked for a count of the request's tokens
	failed  bool     // some attempt failed in another way than by the client's own mistake, or was charged for it
	costs   bool     // some attempt may cost something
}

// add adds an attempt that has ended, at what the account is charged for it; nil is that of one without a price.
func (s *spent) add(settled *ledger.Settlement, cost *llm.Money) {
	s.tokens += settled.Usage.TotalTokens()
	if s.priced = s.priced && cost != nil; cost != nil {
		s.money += *cost
	}
}

// cost is what they cost so far, nil when some of it has no price.
func (s *spent) cost() *llm.Money {
	if !s.priced {
		return nil
	}
	return &s.money
}

// model is the full name of the last one's.
func (s *spent) model() string { return s.models[len(s.models)-1] }
