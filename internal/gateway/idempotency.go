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
		Body: seal.Digest(c.dialect.Name, string(c.op.Op), strconv.FormatBool(c.head.Stream), c.head.Model,
			strings.Join(c.fallbacks, " "), strconv.FormatBool(c.noRescue), fmt.Sprint(c.ownHeaders()),
			string(c.content())),
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
		return true, c.replay(&record, reply)
	}
	c.idem = &idempotent{record: record}
	return false, nil
}

// content is the body, but for the boundary between the parts of a form, which
// is another one whenever a client writes the same form again.
func (c *call) content() []byte {
	_, params, err := mime.ParseMediaType(c.formType())
	if err != nil || params["boundary"] == "" {
		return c.body
	}
	return bytes.ReplaceAll(c.body, []byte("--"+params["boundary"]), []byte("--"))
}

// replay answers with the reply that was kept.
func (c *call) replay(record *idempotency.Record, sealed []byte) error {
	if n := int64(len(sealed)); n > freeArrival && !c.takeArrival(arrivalCopies*n) {
		return c.shed(telemetry.AccountBodies) // who waits holds what was read
	}
	box, err := c.sealer(record)
	if err != nil {
		return err
	}
	opened, err := box.Open(sealed[:0], nil, sealed, []byte(record.Body))
	if err != nil {
		return fmt.Errorf("open a kept reply: %w", err)
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
func (i *idempotent) store(c *call, a *answered, body []byte) error {
	i.ended = true // it has been answered, whatever comes of this: nobody is charged for it again
	if len(body) > maxKeptReply {
		i.streamed(c) // too large to replay: the key is spent all the same
		return kept.TooLarge
	}
	head, err := json.Marshal(a)
	if err != nil {
		return err
	}
	box, err := c.sealer(&i.record)
	if err != nil {
		return err
	}
	sealed := box.Seal(nil, nil, bytes.Join([][]byte{head, body}, []byte{'\n'}), []byte(i.record.Body))
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.r.Context()), keepWithin)
	defer cancel()
	return c.server.idempotency.Keep(ctx, i.record, sealed)
}

// keepReply keeps a reply for its Idempotency-Key, and tells the client where it could not:
// the same request gets 409 then, and is not made again.
func (c *call) keepReply(a *answered, body []byte) {
	if c.idem == nil {
		return
	}
	if err := c.idem.store(c, a, body); err != nil {
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
	log(what, "request", c.idText, "account", c.principal.Account().ID, "err", err)
}

// streamed remembers that the reply was a stream, which is not kept.
func (i *idempotent) streamed(c *call) {
	if i == nil {
		return
	}
	i.ended = true // as in store
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.r.Context()), keepWithin)
	defer cancel()
	if err := c.server.idempotency.Keep(ctx, i.record, nil); err != nil {
		c.server.log.Error("the end of a stream was not noted for its Idempotency-Key", "request", c.idText, "err", err)
	}
}

// release lets the key be used again, when the request came to nothing.
func (i *idempotent) release(c *call) {
	if i == nil || i.ended {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.r.Context()), keepWithin)
	defer cancel()
	if err := c.server.idempotency.Forget(ctx, i.record); err != nil {
		c.server.log.Error("an Idempotency-Key was not released", "request", c.idText, "err", err)
	}
}

// sealer encrypts with a key that only the holder of the API key and of the
// Idempotency-Key can derive: the database alone gives nothing away.
func (c *call) sealer(record *idempotency.Record) (cipher.AEAD, error) {
	secret := c.token + "\n" + c.r.Header.Get("Idempotency-Key")
	return seal.New(secret, record.Scope+record.Key, "weir idempotency v1")
}
