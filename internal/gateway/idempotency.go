package gateway

import (
	"bytes"
	"cmp"
	"context"
	"crypto/cipher"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"weir/internal/capacity"
	"weir/internal/dialect"
	"weir/internal/idempotency"
	"weir/internal/seal"
	"weir/internal/stored"
	"weir/internal/telemetry"
)

// maxKeptReply bounds a stored reply, in bytes.
const maxKeptReply = 8 << 20

// idempotent is a request's claim on its Idempotency-Key. A nil one does nothing.
type idempotent struct {
	store  idempotency.Store
	r      *http.Request
	record idempotency.Record
	token  string // of the API key
	unkept unkept
	ended  bool
}

// claim records the request's Idempotency-Key. It returns nil if the request has none. If the key has a stored reply,
// it returns that, sealed, with done.
func (in *intake) claim() (i *idempotent, reply []byte, done bool, err error) {
	header, err := idempotency.KeyOf(in.r.Header)
	if err != nil || header == "" {
		return nil, nil, false, err
	}
	record := idempotency.Record{
		Account: in.principal.Account().ID, Scope: in.principal.Key().ID, Key: seal.Digest(header),
		Request: in.id.String(),
		Body:    in.digest(),
	}
	ctx, cancel := context.WithTimeout(in.r.Context(), keepWithin)
	defer cancel()
	const spent = "The Idempotency-Key belongs to a request that has ended without a stored reply: the reply was " +
		"a stream, very large, or beyond the account's storage limit. The gateway does not repeat such a request. " +
		"Use a new key to send it again."
	state, reply, err := idempotency.Begin(ctx, in.server.idempotency, record, spent)
	if err != nil {
		return nil, nil, false, err
	}
	i = &idempotent{store: in.server.idempotency, r: in.r, record: record, token: in.token, unkept: newUnkept(in)}
	return i, reply, state == idempotency.Done, nil
}

// digest returns a hash of all parts of the request that determine its answer.
func (in *intake) digest() string {
	return seal.Digest(in.Dialect.Name, string(in.Op.Op), strconv.FormatBool(in.Head.Stream), in.Head.Model,
		strings.Join(in.own.fallbacks, " ")+string(in.own.theirs), strconv.FormatBool(in.own.noRescue),
		fmt.Sprint(in.PassedHeaders()),
		string(content(in.Body, in.formType())))
}

// content returns the body without the boundary of a form, which changes each time a client writes the same form.
func content(body []byte, formType string) []byte {
	_, params, err := mime.ParseMediaType(formType)
	if err != nil || params["boundary"] == "" {
		return body
	}
	return bytes.ReplaceAll(body, []byte("--"+params["boundary"]), []byte("--"))
}

// replay answers with the stored reply of an earlier request.
func (q *request) replay(i *idempotent, sealed []byte) error {
	in := &q.in
	if n := int64(len(sealed)); n > capacity.FreeAnswer && !in.held.TryAnswer(capacity.AnswerCopies*n) {
		// A request must not wait while it holds the stored reply in memory.
		return in.held.Refuse(telemetry.AccountBodies)
	}
	first, body, err := i.open(sealed)
	if err != nil {
		return err
	}
	q.x.settleLimits()
	h := in.w.Header()
	in.answerHeaders(first, cmp.Or(first.Type, "application/json"))
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("Idempotent-Replayed", "true")
	in.w.WriteHeader(http.StatusOK) // also before an empty body, as in sendWhole
	dialect.WriteBody(in.w, body, in.server.timing.Write)
	return nil
}

// open decrypts a stored reply in place and returns the values of its headers, and its body.
func (i *idempotent) open(sealed []byte) (first *answered, body []byte, err error) {
	box, err := i.sealer()
	if err != nil {
		return nil, nil, err
	}
	opened, err := box.Open(sealed[:0], nil, sealed, []byte(i.record.Body))
	if err != nil {
		return nil, nil, idempotency.Unopened(err)
	}
	head, body, _ := bytes.Cut(opened, []byte{'\n'})
	first = new(answered)
	if err := json.Unmarshal(head, first); err != nil {
		return nil, nil, fmt.Errorf("read a stored reply: %w", err)
	}
	return first, body, nil
}

// seal stores a reply, sealed, before the client receives it. After an error the reply is not stored: the key then
// counts as used, or as one whose request still runs.
func (i *idempotent) seal(a *answered, body []byte) error {
	i.ended = true // the request has been answered, so it must not be charged again even if the reply is not stored
	if len(body) > maxKeptReply {
		i.streamed() // too large to replay, but the key counts as used
		return stored.TooLarge
	}
	head, err := json.Marshal(a)
	if err != nil {
		return err
	}
	box, err := i.sealer()
	if err != nil {
		return err
	}
	sealed := box.Seal(nil, nil, bytes.Join([][]byte{head, body}, []byte{'\n'}), []byte(i.record.Body))
	ctx, cancel := i.within()
	defer cancel()
	return i.store.Keep(ctx, i.record, sealed)
}

// within returns a context for storing, which goes on after the client has left.
func (i *idempotent) within() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(i.r.Context()), keepWithin)
}

// keep stores a reply for its Idempotency-Key. It returns false if that fails: the same request then gets 409 and is
// not sent to a provider again.
func (i *idempotent) keep(a *answered, body []byte) bool {
	if i == nil {
		return true
	}
	err := i.seal(a, body)
	if err != nil {
		i.unkept.note("a reply was not kept for its Idempotency-Key", stored.Reply, err)
	}
	return err == nil
}

// streamed records that the reply was a stream, which is not stored.
func (i *idempotent) streamed() {
	if i == nil {
		return
	}
	i.ended = true // as in seal
	ctx, cancel := i.within()
	defer cancel()
	if err := i.store.Keep(ctx, i.record, nil); err != nil {
		i.unkept.log.Error("failed to record the end of a stream for its Idempotency-Key",
			"request", i.record.Request, "err", err)
	}
}

// release frees the key for another request if this one got no answer.
func (i *idempotent) release() {
	if i == nil || i.ended {
		return
	}
	ctx, cancel := i.within()
	defer cancel()
	if err := i.store.Forget(ctx, i.record); err != nil {
		i.unkept.log.Error("failed to release an Idempotency-Key", "request", i.record.Request, "err", err)
	}
}

// sealer returns a cipher with a key that needs both the API key and the Idempotency-Key: the database alone reveals
// nothing.
func (i *idempotent) sealer() (cipher.AEAD, error) {
	secret := i.token + "\n" + i.r.Header.Get("Idempotency-Key")
	return seal.New(secret, i.record.Scope+i.record.Key, "weir idempotency v1")
}
