package gateway

import (
	"bytes"
	"cmp"
	"context"
	"crypto/cipher"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"strconv"
	"strings"

	"weir/internal/capacity"
	"weir/internal/dialect"
	"weir/internal/idempotency"
	"weir/internal/kept"
	"weir/internal/seal"
	"weir/internal/telemetry"
)

// maxKeptReply bounds a stored reply, in bytes.
const maxKeptReply = 8 << 20

// idempotent is a request's claim on its Idempotency-Key. A nil one does nothing.
type idempotent struct {
	call   *call
	record idempotency.Record
	ended  bool
}

// beginIdempotent records the request's Idempotency-Key, if it has one, or replays the stored reply.
func (c *call) beginIdempotent() (replayed bool, err error) {
	header, err := idempotency.KeyOf(c.r.Header)
	if err != nil || header == "" {
		return false, err
	}
	record := idempotency.Record{
		Account: c.principal.Account().ID, Scope: c.principal.Key().ID, Key: seal.Digest(header),
		Request: c.id.String(),
		Body:    digestOf(c),
	}
	ctx, cancel := context.WithTimeout(c.r.Context(), keepWithin)
	defer cancel()
	const spent = "The Idempotency-Key belongs to a request that has ended without a stored reply: the reply was " +
		"a stream, very large, or beyond the account's storage limit. The gateway does not repeat such a request. " +
		"Use a new key to send it again."
	state, reply, err := idempotency.Begin(ctx, c.server.idempotency, record, spent)
	if err != nil {
		return false, err
	}
	if state == idempotency.Done {
		return true, (&idempotent{call: c, record: record}).replay(reply)
	}
	c.idem = &idempotent{call: c, record: record}
	return false, nil
}

// digestOf returns a hash of all parts of the request that determine its answer.
func digestOf(c *call) string {
	return seal.Digest(c.Dialect.Name, string(c.Op.Op), strconv.FormatBool(c.Head.Stream), c.Head.Model,
		strings.Join(c.own.fallbacks, " ")+string(c.own.theirs), strconv.FormatBool(c.own.noRescue),
		fmt.Sprint(c.PassedHeaders()),
		string(content(c.Body, c.formType())))
}

// content returns the body without the boundary of a form, which changes each time a client writes the same form.
func content(body []byte, formType string) []byte {
	_, params, err := mime.ParseMediaType(formType)
	if err != nil || params["boundary"] == "" {
		return body
	}
	return bytes.ReplaceAll(body, []byte("--"+params["boundary"]), []byte("--"))
}

// replay answers with the stored reply.
func (i *idempotent) replay(sealed []byte) error {
	c := i.call
	if n := int64(len(sealed)); n > capacity.FreeAnswer && !c.held.TryAnswer(capacity.AnswerCopies*n) {
		// A request must not wait while it holds the stored reply in memory.
		return c.held.Refuse(telemetry.AccountBodies)
	}
	box, err := i.sealer()
	if err != nil {
		return err
	}
	opened, err := box.Open(sealed[:0], nil, sealed, []byte(i.record.Body))
	if err != nil {
		return idempotency.Unopened(err)
	}
	head, body, _ := bytes.Cut(opened, []byte{'\n'})
	var first answered
	if err := json.Unmarshal(head, &first); err != nil {
		return fmt.Errorf("read a stored reply: %w", err)
	}
	c.settleLimits()
	h := c.w.Header()
	c.answerHeaders(&first, cmp.Or(first.Type, "application/json"))
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("Idempotent-Replayed", "true")
	dialect.WriteBody(c.w, body, c.server.timing.Write)
	return nil
}

// store stores a reply, sealed, before the client receives it. After an error the reply is not stored: the key then
// counts as used, or as one whose request still runs.
func (i *idempotent) store(a *answered, body []byte) error {
	c := i.call
	i.ended = true // the request has been answered, so it must not be charged again even if the reply is not stored
	if len(body) > maxKeptReply {
		i.streamed() // too large to replay, but the key counts as used
		return kept.TooLarge
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
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.r.Context()), keepWithin)
	defer cancel()
	return c.server.idempotency.Keep(ctx, i.record, sealed)
}

// keep stores a reply for its Idempotency-Key. If that fails, a header says so: the same request then gets 409 and is
// not sent to a provider again.
func (i *idempotent) keep(a *answered, body []byte) {
	if i == nil {
		return
	}
	if err := i.store(a, body); err != nil {
		c := i.call
		c.w.Header()["Idempotent-Kept"] = []string{"false"}
		c.notKept("a reply was not kept for its Idempotency-Key", kept.Reply, err)
	}
}

// notKept counts and logs a reply or response that was not stored.
func (c *call) notKept(what string, kind kept.Kind, err error) {
	log := c.server.log.Error
	if why, ok := errors.AsType[kept.Refusal](err); ok {
		c.server.metrics.NotKept(kind, why)
		log = c.server.log.Info // there may be as many as requests
	}
	log(what, "request", c.id.text, "account", c.principal.Account().ID, "err", err)
}

// streamed records that the reply was a stream, which is not stored.
func (i *idempotent) streamed() {
	if i == nil {
		return
	}
	c := i.call
	i.ended = true // as in store
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.r.Context()), keepWithin)
	defer cancel()
	if err := c.server.idempotency.Keep(ctx, i.record, nil); err != nil {
		c.server.log.Error("failed to record the end of a stream for its Idempotency-Key", "request", c.id.text,
			"err", err)
	}
}

// release frees the key for another request if this one got no answer.
func (i *idempotent) release() {
	if i == nil || i.ended {
		return
	}
	c := i.call
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.r.Context()), keepWithin)
	defer cancel()
	if err := c.server.idempotency.Forget(ctx, i.record); err != nil {
		c.server.log.Error("failed to release an Idempotency-Key", "request", c.id.text, "err", err)
	}
}

// sealer returns a cipher with a key that needs both the API key and the Idempotency-Key: the database alone reveals
// nothing.
func (i *idempotent) sealer() (cipher.AEAD, error) {
	secret := i.call.token + "\n" + i.call.r.Header.Get("Idempotency-Key")
	return seal.New(secret, i.record.Scope+i.record.Key, "weir idempotency v1")
}
