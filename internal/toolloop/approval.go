package toolloop

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"

	"weir/internal/idempotency"
	"weir/internal/llm"
	"weir/internal/rawjson"
	"weir/internal/seal"
)

// approvalPrefix begins the id of a request for an approval.
const approvalPrefix = "mcpr_"

// checkApproval refuses an unknown value of require_approval.
func checkApproval(at string, v []byte) error {
	if !rawjson.Present(v) || rawjson.KindOf(v) == rawjson.Object {
		return nil
	}
	if word, _ := rawjson.AsString(v); word != "always" && word != "never" {
		return llm.Invalid(at+".require_approval",
			`require_approval must be "always", "never", or an object with them.`)
	}
	return nil
}

// newApprover reads require_approval. The function reports whether a tool may be called without asking. As at the
// vendor, nothing is by default.
func newApprover(v []byte) func(*Tool) bool {
	if rawjson.KindOf(v) != rawjson.Object {
		never := rawjson.Text(v) == "never"
		return func(*Tool) bool { return never }
	}
	always, never := newFilter(rawjson.Get(v, "always")), newFilter(rawjson.Get(v, "never"))
	return func(t *Tool) bool { return !always.selects(t) && never.selects(t) }
}

// approvalOf returns the id of the request for an approval of a call. It holds for exactly this call, and only with
// the API key of the request: a client, or whoever writes its messages, cannot approve another one by it.
func (r *run) approvalOf(id uuid.UUID, c *call) string {
	name := hex.EncodeToString(id[:])
	return approvalPrefix + name + r.mark(name, c.of.label, c.of.Name, string(c.arguments))
}

func (r *run) mark(parts ...string) string {
	mac := hmac.New(sha256.New, []byte("weir approval v1\n"+r.request.Token))
	_, _ = mac.Write(rawjson.AppendStrings(nil, parts)) // never fails
	return hex.EncodeToString(mac.Sum(nil)[:16])
}

// admit uses up an approval of a call. Each counts once on all nodes, within 24 hours.
func (r *run) admit(at, approval string, c *call) error {
	text, ok := strings.CutPrefix(approval, approvalPrefix)
	id, err := hex.DecodeString(text[:min(len(text), 32)])
	if !ok || err != nil || len(id) != len(uuid.UUID{}) || r.request.Token == "" ||
		!hmac.Equal([]byte(r.approvalOf(uuid.UUID(id), c)), []byte(approval)) {
		return llm.Invalid(at, "There is no such request for an approval of this call with this API key. Send the "+
			"item mcp_approval_request unchanged, and its answer with the same API key.")
	}
	made := time.Unix(uuid.UUID(id).Time().UnixTime())
	if r.loop.o.Now().Sub(made) > idempotency.TTL {
		return llm.Invalidf(at, "The request for an approval is older than %s. Ask the model again.", idempotency.TTL)
	}
	record := idempotency.Record{
		Scope: "approval/" + r.request.Principal.Key().ID, Key: seal.Digest(approval), Body: seal.Digest(approval),
		Request: uuid.Must(uuid.NewV7()).String(),
	}
	const used = "This approval was used already. Ask the model again."
	if _, _, err := idempotency.Begin(r.ctx, r.loop.o.Once, record, used); err != nil {
		if e, is := errors.AsType[*llm.Error](err); is && e.Code == llm.CodeIdempotencyConflict {
			return llm.Invalid(at, used)
		}
		return err
	}
	return r.loop.o.Once.Keep(r.ctx, record, nil)
}
