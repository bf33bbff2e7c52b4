package api

import (
	"context"
	"crypto/cipher"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"weir/internal/account"
	"weir/internal/idempotency"
	"weir/internal/llm"
	"weir/internal/seal"
)

// recordWait bounds each access to the record of an Idempotency-Key.
const recordWait = 5 * time.Second

// once makes a call once per Idempotency-Key within 24 hours, and repeats the stored answer after that. The call
// continues after its client has disconnected, because the client will retry.
func (ad *Admin) once(r *adminRequest, call adminCall) (a answer, err error) {
	header, err := idempotency.KeyOf(r.Header)
	if err != nil {
		return a, err
	}
	if header == "" {
		return call(r)
	}
	c, err := ad.newIdempotentRequest(r, header)
	if err != nil {
		return a, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), adminWait)
	defer cancel()
	kept, err := c.begin(ctx)
	if err != nil {
		return a, err
	}
	if kept != nil {
		return *kept, nil
	}
	r.Request = r.WithContext(ctx)
	a, err = call(r)
	ad.endIdempotentRequest(ctx, c, &a, err)
	return a, err
}

// newIdempotentRequest returns the record of a request with that Idempotency-Key.
func (ad *Admin) newIdempotentRequest(r *adminRequest, header string) (*idempotentRequest, error) {
	secret, err := ad.secretOf(r)
	if err != nil {
		return nil, err
	}
	c := &idempotentRequest{
		Record: idempotency.Record{
			Scope: scopeOf(r), Key: seal.Digest(header), Request: r.visit.Origin.Request,
			Body: seal.Digest(r.Method, r.URL.EscapedPath(), string(r.body)),
		},
		store: ad.records,
	}
	c.box, err = seal.New(secret+"\n"+header, c.Scope+c.Key, "weir administration v1")
	return c, err
}

// scopeOf identifies the caller, because the keys of different callers are independent. A person is identified by the
// session, whose secret seals the answers.
func scopeOf(r *adminRequest) string {
	if k := r.visit.Key(); k != nil {
		return "admin/key/" + k.ID
	}
	return "admin/session/" + r.visit.Session().ID
}

// secretOf returns a secret that only the caller has.
func (ad *Admin) secretOf(r *adminRequest) (string, error) {
	secret, err := account.Token(r.Header)
	if err != nil {
		return "", err
	}
	if r.visit.Key() == nil {
		secret = ad.session(r.Request)
	}
	if secret == "" {
		return "", errNoSecret
	}
	return secret, nil
}

// errNoSecret reports a caller without any secret, which is a defect of the guard.
var errNoSecret = errors.New("the caller has no secret to seal an answer with")

// idempotentRequest holds the record of a request's Idempotency-Key.
type idempotentRequest struct {
	idempotency.Record
	store idempotency.Store
	box   cipher.AEAD
}

// begin creates the record, or returns the stored answer.
func (c *idempotentRequest) begin(ctx context.Context) (*answer, error) {
	ctx, cancel := context.WithTimeout(ctx, recordWait)
	defer cancel()
	const spent = "The first request with this Idempotency-Key failed in the gateway, and may have taken effect. " +
		"Check its effect, then use a new key."
	state, sealed, err := idempotency.Begin(ctx, c.store, c.Record, spent)
	if err != nil || state == idempotency.New {
		return nil, err
	}
	return c.open(sealed)
}

// open decrypts the stored answer.
func (c *idempotentRequest) open(sealed []byte) (*answer, error) {
	text, err := c.box.Open(nil, nil, sealed, []byte(c.Body))
	if err != nil {
		return nil, idempotency.Unopened(err)
	}
	a := &answer{replayed: true}
	if err := json.Unmarshal(text, a); err != nil {
		return nil, fmt.Errorf("read a stored answer: %w", err)
	}
	return a, nil
}

// endIdempotentRequest stores the answer. A refused request can be repeated with the same key. After an internal
// error the effect is unknown, so the key is used up.
func (ad *Admin) endIdempotentRequest(ctx context.Context, c *idempotentRequest, a *answer, failed error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordWait)
	defer cancel()
	var err error
	switch {
	case failed == nil:
		err = c.keep(ctx, a)
	case llm.AsError(failed).Code.Status() < http.StatusInternalServerError:
		err = c.store.Forget(ctx, c.Record)
	default:
		err = c.store.Keep(ctx, c.Record, nil)
	}
	if err != nil { // the record remains as one of a running request, so nothing is done twice
		ad.log.Error("the end of a request could not be recorded for its Idempotency-Key", "request", c.Request,
			"err", err)
	}
}

func (c *idempotentRequest) keep(ctx context.Context, a *answer) error {
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	return c.store.Keep(ctx, c.Record, c.box.Seal(nil, nil, text, []byte(c.Body)))
}
