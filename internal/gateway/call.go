package gateway

import (
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"weir/internal/account"
	"weir/internal/conversation"
	"weir/internal/dialect"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/provider"
	"weir/internal/ratelimit"
	"weir/internal/route"
	"weir/internal/telemetry"
)

// call is one request on its way through the pipeline.
type call struct {
	server     *Server
	w          http.ResponseWriter
	r          *http.Request
	dialect    *dialect.Dialect
	op         *dialect.Operation // what is asked for
	permission account.Permission
	started    time.Time
	counted    *telemetry.Route
	admitted   bool   // and has to leave
	account    string // whose share its place and its bytes are of; empty before it has one
	status     int    // of the answer; 0 for 200
	own        ownTime

	id        uuid.UUID
	idText    string
	known     *account.Principal // who calls, where that was found out before; nil to ask for a key
	token     string
	principal *account.Principal
	body      []byte
	pooled    *[]byte // where body belongs
	reserved  int64   // bytes that count for it
	head      llm.Head
	turn      *conversation.Turn // what is to be kept with the answer; nil for nothing
	fallbacks []string           // models that the request names beside its own
	noRescue  bool               // it does not want an answer continued elsewhere
	request   *llm.Request       // the body's tree, once somebody asked for it
	treeSize  int64              // bytes that count for it, of reserved
	arrived   int64              // bytes that count for it of the answer under way
	overdrawn bool               // it has the server's overdraft
	arrives   arriving           // that answer
	table     *route.Table
	targets   []route.Target
	plan      route.Plan
	apart     int64           // what the target of the attempt under way charges for apart, as countApart has it
	dropped   []string        // what the wire format of the attempt under way cannot carry
	oneTarget [1]route.Target // room for targets, which is nearly always enough
	idem      *idempotent     // nil without an Idempotency-Key

	limited ratelimit.Reservation // what it has taken of its caller's limits
	used    int64                 // tokens of all attempts

	// output tokens of each answer, put in for the current target where the client gave no cap; 0 for nothing
	cap         int64
	reservation *ledger.Reservation // for the attempt that is to be opened; nil without a budget
	wanted      demand              // what was reserved for it
	settling    *ledger.Settlement  // how the attempt under way will be settled, once it has failed

	hold              *ledger.Hold // of the attempt under way; nil between one whose answer is late and the next
	late              *late        // the attempt that is to be read on beside the request; nil for none
	shared            *shared      // with late attempts; nil where there were none
	sum               *tally       // what came of it
	reached           bool         // some attempt reached its provider
	tried             []string     // the models of all attempts
	spent             llm.Money    // what all attempts cost
	priced            bool         // all of them had a price
	clientWriteFailed atomic.Bool  // a write found that the client takes nothing any more
	hangUp            func()       // to be called then
	bills             atomic.Bool  // the provider charges for a stream whose client has left
	draining          atomic.Bool  // the answer is read though the client has left
	ending            atomic.Bool  // the answer is whole, but for its usage and end marker
	out               *clientStream

	words   words             // what the client has been sent of a stream
	resumed *resume           // how the attempt under way goes on with it; nil where it does not
	before  llm.Usage         // what the attempts used whose words it goes on from
	broke   *provider.Failure // how the first of them ended
}

// errGone is a client that left: there is nobody to tell.
var errGone = errors.New("gateway: the client left")

// handle is the one place that turns an error into a reply and logs it.
func (c *call) handle() {
	c.id = c.server.ledger.NewID()
	c.idText = c.id.String()
	defer c.finish()
	defer c.recoverPanic()
	if err := c.run(); err != nil {
		c.fail(err)
	}
}

// run takes the request through the pipeline. An error means that no byte of
// an answer has gone out yet.
func (c *call) run() error {
	if err := c.enter(); err != nil {
		return err
	}
	if err := c.authenticate(); err != nil {
		return err
	}
	if err := c.takeShare(); err != nil {
		return err
	}
	if err := c.readBody(); err != nil {
		return err
	}
	c.own.begin(c.server.now())
	if err := c.inTurn(c.scanBody); err != nil {
		return err
	}
	if err := c.enterStream(); err != nil {
		return err
	}
	if err := c.route(); err != nil {
		return err
	}
	if err := c.recall(); err != nil {
		return err
	}
	if err := c.reserveLimits(); err != nil {
		return err
	}
	if err := c.inTurn(c.decode); err != nil {
		return err
	}
	if c.op.Op == llm.OpCountTokens && !c.offers(&c.targets[0]) {
		return c.countHere()
	}
	replayed, err := c.beginIdempotent()
	if err != nil || replayed {
		return err
	}
	return c.forward()
}

// finish gives back what the call holds, whatever became of it.
func (c *call) finish() {
	defer c.leave() // last: a stop closes the ledger and the database then
	defer c.endDrain()
	c.releaseReservation()
	c.abandonHold()
	c.readLate(c.reached)
	c.settleLimits()
	c.idem.release(c)
	c.releaseBody()
	c.endArrival()
}

// recoverPanic keeps a defect in one request from being noticed by others.
func (c *call) recoverPanic() {
	p := recover()
	switch p {
	case nil:
	case http.ErrAbortHandler:
		panic(p) // net/http's own way of giving up a connection
	default:
		c.fail(fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
	}
}

// authenticate finds out who calls and whether they may.
func (c *call) authenticate() error {
	if c.known != nil {
		c.principal = c.known
		return c.principal.May(c.permission)
	}
	token, err := account.Token(c.r.Header, c.dialect.KeyHeaders...)
	if err != nil {
		return err
	}
	c.token = token
	p, err := c.server.accounts.Authenticate(c.r.Context(), c.token)
	if err != nil {
		return err
	}
	c.principal = p
	return p.May(c.permission)
}

// route finds the targets of the model that was asked for, or of the default.
func (c *call) route() error {
	c.table = c.server.router.Table()
	if c.head.Model == "" {
		if c.head.Model = c.table.DefaultModel(); c.head.Model == "" {
			return llm.Invalid("model", `No default model is configured: name one as "<provider>/<model-name>".`)
		}
	}
	if err := checkModel(c.head.Model); err != nil {
		return err
	}
	targets, err := c.table.Targets(c.oneTarget[:0], c.head.Model, c.dialect.Vendor)
	if err != nil {
		if denied := c.principal.MayUse(c.head.Model); denied != nil {
			return denied // what a key may not use, it does not learn about
		}
		return err
	}
	c.targets = targets
	if err := c.mayUse(); err != nil {
		return err
	}
	return c.addFallbacks()
}

// maxModel bounds a model's name, in bytes.
const maxModel = 256

// checkModel takes names that can stand in a header, a table, the ledger and an
// address: "." and ".." lead elsewhere there, even where they are escaped, and invisible
// characters, such as those that turn the direction of a text, make it read as another.
func checkModel(name string) error {
	odd := func(r rune) bool {
		// a blank of Braille
		return unicode.IsSpace(r) || unicode.IsControl(r) || r == utf8.RuneError || r == '\u2800' ||
			unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
	}
	if len(name) > maxModel || strings.ContainsFunc(name, odd) {
		return llm.Invalid("model",
			fmt.Sprintf("The model's name is longer than %d bytes or has white space, control characters or "+
				"invisible ones in it.", maxModel))
	}
	for segment := range strings.SplitSeq(name, "/") {
		if segment == "." || segment == ".." {
			return llm.Invalid("model", `The model's name has "." or ".." between its slashes.`)
		}
	}
	return nil
}

// decode leaves out the targets that cannot take the request, and decodes the body where
// somebody will have to translate it, so that a mistake in it is found before anything is
// opened in the ledger.
func (c *call) decode() error {
	c.narrow()
	for i := range c.targets {
		if c.op.DecodeRequest != nil && c.spoken(&c.targets[i]) != c.op {
			_, err := c.tree()
			return err
		}
	}
	return nil
}

// mayUse asks whether the key may use the model, by the name it was asked for
// or by the name of each target.
func (c *call) mayUse() error {
	denied := c.principal.MayUse(c.head.Model)
	if denied == nil {
		return nil
	}
	for i := range c.targets {
		if c.principal.MayUse(c.targets[i].FullName()) != nil {
			return denied
		}
	}
	return nil
}

// errNoTree is a request that nobody has to understand.
var errNoTree = errors.New("gateway: the body is not translated")

// spoken is what is asked for as the target speaks of it; nil where it cannot
// be asked.
func (c *call) spoken(t *route.Target) *dialect.Operation {
	return c.speaking(t).For(c.op.Op)
}

// speaking is the wire format in which the target is asked.
func (c *call) speaking(t *route.Target) *dialect.Dialect { return t.Provider.Speaking(c.dialect) }

// quirks are the target's departures from it.
func (c *call) quirks(t *route.Target) *llm.Quirks { return t.Provider.Quirks(c.speaking(t)) }

// tree is the body's tree. What it takes at most counts among the bodies in flight before it
// is built.
func (c *call) tree() (*llm.Request, error) {
	if c.request != nil {
		return c.request, nil
	}
	if c.op.DecodeRequest == nil {
		return nil, errNoTree
	}
	size, err := c.server.bounds.Measure(c.body)
	if err != nil {
		return nil, err
	}
	if err := c.reserve(size); err != nil {
		return nil, err
	}
	c.treeSize += size
	c.request, err = c.op.DecodeRequest(c.body)
	return c.request, err
}

// left is errGone once the client of a large body has: what would follow is not begun.
func (c *call) left() error {
	if len(c.body) >= largeBody && c.r.Context().Err() != nil {
		return errGone
	}
	return nil
}

// dropTree gives back what the tree takes. It is decoded again where it is asked for again.
func (c *call) dropTree() {
	c.giveBack(c.treeSize)
	c.request, c.treeSize = nil, 0
}
