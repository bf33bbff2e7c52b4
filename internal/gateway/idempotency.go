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

	"weir/internal/dialect"
	"weir/internal/idempotency"
	"weir/internal/kept"
	"weir/internal/seal"
	"weir/internal/telemetry"
)

// maxKeptReply bounds what is kept for a key, in bytes.
const maxKeptReply = 8 << 20

// idempotent is a request's hold on its Idempotency-Key. A nil one does
// nothing.
type idempotent struct {
	call   *call
	record idempotency.Record
	ended  bool
}

// beginIdempotent records the request's Idempotency-Key, if it has one, or
// replays what was answered to it before.
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
	const spent = "The Idempotency-Key was used with a request that has ended and whose answer was not kept: a " +
		"stream, a very large reply, or one beyond what is kept for the account. It is not made again. Use a new key " +
		"to make it again."
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

// digestOf is a hash of all of the request that decides its answer.
func digestOf(c *call) string {
	return seal.Digest(c.Dialect.Name, string(c.Op.Op), strconv.FormatBool(c.Head.Stream), c.Head.Model,
		strings.Join(c.own.fallbacks, " ")+string(c.own.theirs), strconv.FormatBool(c.own.noRescue), fmt.Sprint(c.PassedHeaders()),
		string(content(c.Body, c.formType())))
}

// content is the body, but for the boundary between the parts of a form, which
// is another one whenever a client writes the same form again.
func content(body []byte, formType string) []byte {
	_, params, err := mime.ParseMediaType(formType)
	if err != nil || params["boundary"] == "" {
		return body
	}
	return bytes.ReplaceAll(body, []byte("--"+params["boundary"]), []byte("--"))
}

// replay answers with the reply that was kept.
func (i *idempotent) replay(sealed []byte) error {
	c := i.call
	if n := int64(len(sealed)); n > freeArrival && !c.held.takeAnswer(arrivalCopies*n) {
		return c.held.shed(telemetry.AccountBodies) // who waits holds what was read
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
		return fmt.Errorf("read a kept reply: %w", err)
	}
	c.settleLimits()
	h := c.w.Header()
	c.answerHeaders(&first, cmp.Or(first.Type, "application/json"))
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("Idempotent-Replayed", "true")
	dialect.WriteBody(c.w, body, c.server.timing.Write)
	return nil
}

// store keeps a reply, sealed, before the client gets it. An error means that it is not
// kept; then the key is spent, or stays as one whose request runs.
func (i *idempotent) store(a *answered, body []byte) error {
	c := i.call
	i.ended = true // it has been answered, whatever comes of this: nobody is charged for it again
	if len(body) > maxKeptReply {
		i.streamed() // too large to replay: the key is spent all the same
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

// keep keeps a reply for its Idempotency-Key, and tells the client where it could not:
// the same request gets 409 then, and is not made again.
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

// notKept counts and logs what was not kept.
func (c *call) notKept(what string, kind kept.Kind, err error) {
	log := c.server.log.Error
	if why, ok := errors.AsType[kept.Refusal](err); ok {
		c.server.metrics.NotKept(kind, why)
		log = c.server.log.Info // of which there may be as many as requests
	}
	log(what, "request", c.id.text, "account", c.principal.Account().ID, "err", err)
}

// streamed remembers that the reply was a stream, which is not kept.
func (i *idempotent) streamed() {
	if i == nil {
		return
	}
	c := i.call
	i.ended = true // as in store
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.r.Context()), keepWithin)
	defer cancel()
	if err := c.server.idempotency.Keep(ctx, i.record, nil); err != nil {
		c.server.log.Error("the end of a stream could not be recorded for its Idempotency-Key", "request", c.id.text,
			"err", err)
	}
}

// release lets the key be used again, when the request came to nothing.
func (i *idempotent) release() {
	if i == nil || i.ended {
		return
	}
	c := i.call
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.r.Context()), keepWithin)
	defer cancel()
	if err := c.server.idempotency.Forget(ctx, i.record); err != nil {
		c.server.log.Error("an Idempotency-Key could not be released", "request", c.id.text, "err", err)
	}
}

// sealer encrypts with a key that only the holder of the API key and of the
// Idempotency-Key can derive: the database alone gives nothing away.
func (i *idempotent) sealer() (cipher.AEAD, error) {
	secret := i.call.token + "\n" + i.call.r.Header.Get("Idempotency-Key")
	return seal.New(secret, i.record.Scope+i.record.Key, "weir idempotency v1")
}
