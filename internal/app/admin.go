package app

import (
	"context"
	"net/http"
	"strings"
	"time"

	"weir/internal/api"
	"weir/internal/gateway"
)

// adminPath is where all of the administration is.
const adminPath = "/admin/v1/"

// isAdmin reports whether a path, or a pattern's, is one of the administration,
// whose errors are told in its own words.
func isAdmin(path string) bool { return strings.HasPrefix(path+"/", adminPath) }

// adminOptions is what the administration works with.
func (g *instance) adminOptions() api.AdminOptions {
	from := originOf(&g.options.Config)
	return api.AdminOptions{
		People: g.people, Claims: adminClaims{g.idempotency}, Requests: g.store, Webhooks: g.webhooks,
		KeysUsed: g.store.KeysUsed, Audit: g.store.Audit, Unpriced: g.store.Unpriced, Nodes: g.store.Nodes,
		PublicURL: from.base,
		Session:   func(r *http.Request) string { return g.dashboard.Session(r) },
	}
}

// adminClaims lends the administration the claims of the pipeline.
type adminClaims struct{ *idempotency }

var claimStates = map[gateway.IdempotencyState]api.ClaimState{
	gateway.IdempotencyNew:     api.ClaimNew,
	gateway.IdempotencyRunning: api.ClaimRunning,
	gateway.IdempotencyOther:   api.ClaimOther,
	gateway.IdempotencyDone:    api.ClaimDone,
	gateway.IdempotencyStream:  api.ClaimSpent,
}

// Claim makes the claim, unless there is one.
func (c adminClaims) Claim(ctx context.Context, claim api.Claim, ttl time.Duration) (api.ClaimState, []byte, error) {
	state, reply, err := c.idempotency.Claim(ctx, gateway.IdempotencyClaim(claim), ttl)
	return claimStates[state], reply, err
}

// Keep ends a claim with its reply; nil where none is known.
func (c adminClaims) Keep(ctx context.Context, claim api.Claim, reply []byte) error {
	return c.idempotency.Keep(ctx, gateway.IdempotencyClaim(claim), reply)
}

// Forget ends a claim as if it had never been.
func (c adminClaims) Forget(ctx context.Context, claim api.Claim) error {
	return c.idempotency.Forget(ctx, gateway.IdempotencyClaim(claim))
}
