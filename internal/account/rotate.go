package account

import (
	"context"
	"time"

	"weir/internal/audit"
	"weir/internal/llm"
)

// MaxOverlap is the longest time that a key's previous token stays valid after a rotation.
const MaxOverlap = 30 * 24 * time.Hour

// RotateKey gives a key a new token and returns it; it cannot be shown again. The previous token stays valid for
// overlap, 0 to MaxOverlap, but no longer than the key. A token from before an earlier rotation becomes invalid.
// Limits, budget and usage belong to the key and do not change. The error is a *llm.Error: CodeNotFound if there is no
// such key, CodeInvalidRequest for a revoked or expired key.
func (s *keys) RotateKey(ctx context.Context, by audit.Actor, id string, overlap time.Duration) (Key, llm.Secret,
	error,
) {
	if overlap < 0 || overlap > MaxOverlap {
		return Key{}, llm.Secret{}, llm.Invalidf("overlap", "The overlap must be 0s to %s, not %s.",
			MaxOverlap, overlap)
	}
	k, err := s.Key(ctx, id)
	if err != nil {
		return Key{}, llm.Secret{}, err
	}
	if k.State(s.now()) == KeyExpired {
		return Key{}, llm.Secret{}, llm.Invalidf("key", "The key %q has expired. Change its expiry, or create "+
			"another one.", id)
	}
	token, r := NewToken()
	if overlap > 0 {
		r.FormerUntil = s.now().Add(overlap)
	}
	k, err = s.UpdateKey(ctx, by, id, KeyUpdate{Rotate: &r})
	return k, token, err
}
