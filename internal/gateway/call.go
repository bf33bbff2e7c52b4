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
	"weir/internal/capacity"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/quote"
	"weir/internal/ratelimit"
	"weir/internal/route"
)

// call is one request in the pipeline.
type call struct {
	quote.Request
	server     *Server
	w          http.ResponseWriter
	r          *http.Request
	permission account.Permission
	started    time.Time
	id         requestID
	measured   measured
	client     capacity.Client
	held       capacity.Held

	principal *account.Principal
	token     string                // empty if the principal was known without a key
	pooled    *[]byte               // the pooled buffer of the body
	tree      tree                  // of the body
	own       ownFields             // fields of the body that are not sent to providers
	kept      *keeping              // nil if nothing is stored
	idem      *idempotent           // nil without an Idempotency-Key
	limited   ratelimit.Reservation // taken from the rate limits

	table   *route.Table
	targets []route.Target
	one     [1]route.Target // buffer for targets, nearly always large enough
	plan    route.Plan

	reservation *budget.Reservation // for the next attempt; nil without a budget
	attempt     *attempt            // the current or last attempt; nil before the first
	first       attempt             // buffer for the first attempt
	spent       spent               // usage and cost of all attempts
	late        lateAttempts
	upstream    reading
	out         *clientStream // nil if no stream was begun
	rescue      rescue
}

// requestID is the id of a request, with its text.
type requestID struct {
	uuid.UUID
	text string
}

// handle runs the request. It is the only function that turns an error into a reply and logs it.
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

// run takes the request through the pipeline up to the relay of its answer (see ARCHITECTURE.md). An error means that
// no byte of an answer has been sent.
func (c *call) run() error {
	if err := c.authenticate(); err != nil {
		return err
	}
	if err := c.readBody(); err != nil {
		return err
	}
	if c.token != "" && c.measured.read.Sub(c.started) >= oldKey { // the key may have been revoked meanwhile
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

// finish releases everything that the call holds, however it ended.
func (c *call) finish() {
	defer c.leave() // last, because a stop then closes the ledger and the database
	defer c.upstream.endDeparture(c.server, c.held.Account())
	defer c.upstream.endDrain(c.server)
	c.releaseReservation()
	c.abandonHold()
	c.server.late.forget(c.late.answers)
	c.readLate(c.spent.reached)
	c.settleLimits()
	c.idem.release()
	c.releaseBody()
	c.held.EndAnswer()
}

// leave frees the pipeline slot and counts the request.
func (c *call) leave() {
	c.measured.done(c.server, c.started)
	switch {
	case !c.held.IsAdmitted():
	case c.late.shared == nil:
		c.server.capacity.Leave(c.held.Account(), c.held.Priority())
	default:
		limited, node, account, priority := c.limited, c.server.capacity, c.held.Account(), c.held.Priority()
		c.late.shared.end = func(used int64) {
			limited.Settle(used)
			node.Leave(account, priority)
		}
		c.late.shared.leave(c.spent.tokens)
	}
}

// recoverPanic isolates a panic of one request from all others.
func (c *call) recoverPanic() {
	p := recover()
	switch p {
	case nil:
	case http.ErrAbortHandler:
		panic(p) // net/http's signal to abort a connection
	default:
		err := fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		c.fail(err)
		c.out.abortBroken(err)
	}
}

// authenticate admits the request, checks the API key and its permission, and takes a slot of the account's share.
//
// Stage 2: authenticate.
func (c *call) authenticate() error {
	again := c.held.IsAdmitted()
	if !again {
		if err := c.held.Enter(); err != nil {
			return err
		}
	}
	if c.principal == nil || again { // else the principal was passed in
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
	return c.held.TakeShare(c.principal.Account().ID)
}

// oldKey is how old the check of a key may be when its request continues.
const oldKey = time.Second

// check removes the targets that cannot serve the request. It decodes the body if a target needs a translation, so that
// mistakes in it are found before anything is opened in the ledger. It reports whether it has answered the request, by
// a stored reply, a late answer or a local count of tokens.
//
// Stage 7: check.
func (c *call) check() (answered bool, err error) {
	work := len(c.Body)
	if c.translates() {
		work = capacity.TreeWork(c.Body)
	}
	err = c.held.InTurn(work, func() error {
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

// tree holds the decoded body.
type tree struct {
	request *llm.Request // nil until it is needed
	size    int64        // bytes that are reserved for it
	err     error        // of the decoder, which a second try would return again
	called  llm.Called   // maps calls of a translated answer back to the client's names; it outlives the tree
}

// errNoTree means that an operation has no decoder.
var errNoTree = errors.New("gateway: the body is not translated")

// Tree returns the decoded body. Before decoding it reserves the most memory that the tree can take.
func (c *call) Tree() (*llm.Request, error) {
	if c.tree.request != nil || c.tree.err != nil {
		return c.tree.request, c.tree.err
	}
	if c.Op.DecodeRequest == nil {
		return nil, errNoTree
	}
	size, err := c.server.bounds.Measure(c.Body)
	if err != nil {
		return nil, err
	}
	if err := c.held.Reserve(size); err != nil {
		return nil, err
	}
	c.tree.size += size
	if c.tree.request, c.tree.err = c.Op.DecodeRequest(c.Body); c.tree.err != nil {
		c.held.Release(size)
		c.tree.request, c.tree.size = nil, c.tree.size-size
	}
	return c.tree.request, c.tree.err
}

// Step runs work on size bytes when it is the request's turn.
func (c *call) Step(size int, work func()) { c.held.Step(size, work) }

// dropTree releases the memory of the tree. The next call of Tree decodes the body again.
func (c *call) dropTree() {
	c.held.Release(c.tree.size)
	c.tree = tree{called: c.tree.called, err: c.tree.err}
}

// spent sums up the attempts of a request.
type spent struct {
	tokens  int64
	money   llm.Money
	priced  bool     // all of them had a price
	models  []string // of all attempts, in order
	reached bool     // an attempt reached its provider
	counted bool     // a provider was asked to count the request's tokens
	failed  bool     // an attempt was charged, or failed for another reason than the client's own mistake
	costs   bool     // an attempt may cost something
}

// add adds a settled attempt and its charge; a nil cost means that it has no price.
func (s *spent) add(settled *ledger.Settlement, cost *llm.Money) {
	s.tokens += settled.Usage.TotalTokens()
	if s.priced = s.priced && cost != nil; cost != nil {
		s.money += *cost
	}
}

// cost returns the charge so far; nil if a part of it has no price.
func (s *spent) cost() *llm.Money {
	if !s.priced {
		return nil
	}
	return &s.money
}

// model returns the full name of the last attempt's model.
func (s *spent) model() string { return s.models[len(s.models)-1] }
