package gateway

import (
	"net/http"
	"time"

	"github.com/google/uuid"

	"weir/internal/account"
	"weir/internal/capacity"
	"weir/internal/quote"
	"weir/internal/ratelimit"
	"weir/internal/route"
	"weir/internal/tracing"
)

// intake is a request before its first attempt: all that the stages from 2 to 7 have read, found and reserved. The
// exchange and its attempts read it, and change nothing in it but release its body.
type intake struct {
	quote.Request
	server     *Server
	w          http.ResponseWriter
	r          *http.Request
	message    *Message // nil for an HTTP request
	tally      *Tally   // nil for an HTTP request
	permission account.Permission
	started    time.Time
	read       time.Time // the body was received
	id         requestID
	trace      *tracing.Request // nil without tracing
	client     capacity.Client
	held       capacity.Held

	principal *account.Principal
	token     string                // empty if the principal was known without a key
	pooled    *[]byte               // the pooled buffer of the body
	own       ownFields             // fields of the body that are not sent to providers
	kept      *keeping              // nil if nothing is stored
	limited   ratelimit.Reservation // taken from the rate limits

	cacheTold string // X-Weir-Cache of the answer; empty for none

	table        *route.Table
	conversation route.Conversation
	targets      []route.Target
	one          [1]route.Target // buffer for targets, nearly always large enough

	loops   bool      // offers tools that the gateway runs
	earlier int       // attempts of the same request before: it is a step of a loop
	arrived time.Time // when the client's request arrived; a step of a loop starts later
}

// requestID is the id of a request, with its text.
type requestID struct {
	uuid.UUID
	text string
}

// build takes the request through the stages before its first attempt.
func (in *intake) build() error {
	if err := in.authenticate(); err != nil {
		return err
	}
	if err := in.readBody(); err != nil {
		return err
	}
	if in.token != "" && in.read.Sub(in.started) >= oldKey { // the key may have been revoked meanwhile
		if err := in.authenticate(); err != nil {
			return err
		}
	}
	if offersTools(in) {
		return scanTools(in)
	}
	if err := in.scan(); err != nil {
		return err
	}
	if err := in.route(); err != nil {
		return err
	}
	in.trace.Asked(in.Head.Model)
	if err := in.reserveLimits(); err != nil {
		return err
	}
	return in.check()
}

// authenticate admits the request, checks the API key and its permission, and takes a slot of the account's share.
//
// Stage 2: authenticate.
func (in *intake) authenticate() error {
	again := in.held.IsAdmitted()
	if !again {
		if err := in.held.Enter(); err != nil {
			return err
		}
	}
	if in.principal == nil || again { // else the principal was passed in
		token, err := account.Token(in.r.Header, in.Dialect.KeyHeaders...)
		if err != nil {
			return err
		}
		in.token = token
		if in.principal, err = in.server.accounts.Authenticate(in.r.Context(), token); err != nil {
			return err
		}
	}
	in.trace.Known(in.principal.Account().ID, in.principal.Key().ID)
	if err := in.principal.May(in.permission); err != nil {
		return err
	}
	if again {
		return nil
	}
	return in.held.TakeShare(in.principal.Account().ID)
}

// oldKey is how old the check of a key may be when its request continues.
const oldKey = time.Second

// check removes the targets that cannot serve the request. It decodes the body if a target needs a translation, so that
// mistakes in it are found before anything is opened in the ledger.
//
// Stage 7: check.
func (in *intake) check() error {
	work := len(in.Body)
	if in.translates() {
		work = capacity.TreeWork(in.Body)
	}
	turn, err := in.held.Turn(work)
	if err != nil {
		return err
	}
	defer turn.End()
	in.narrow()
	in.conversation = in.findConversation()
	in.CacheKey = cacheKey(in)
	if !in.translates() {
		return nil
	}
	_, err = in.Tree()
	return err
}
