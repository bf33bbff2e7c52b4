package account

import (
	"context"
	"time"

	"weir/internal/audit"
	"weir/internal/llm"
)

// MaxOverlap is the longest that a key's former token may be good after a rotation.
const MaxOverlap = 30 * 24 * time.Hour

// RotateKey gives a key another token and returns it, which nobody can see again. The one of before is good for
// overlap, 0 to MaxOverlap, and no longer than the key; one that was good from an earlier rotation is not any more. Limits,
// budget and usage are the key's, whichever token comes. The error is a *llm.Error with CodeNotFound when there is no
// such key, and CodeInvalidRequest for one that is revoked or expired.
func (s *Service) RotateKey(ctx context.Context, by audit.Actor, id string, overlap time.Duration) (Key, llm.Secret,
	error,
) {
	if overlap < 0 || overlap > MaxOverlap {
		return Key{}, llm.Secret{}, llm.Invalidf("overlap", "The former key stays good for 0s to %s, not for %s.",
			MaxOverlap, overlap)
	}
	k, err := s.Key(ctx, id)
	if err != nil {
		return Key{}, llm.Secret{}, err
	}
	if k.State(s.now()) == KeyExpired {
		return Key{}, llm.Secret{}, llm.Invalidf("key", "The key %q has expired. Change when it expires, or make "+
			"another one.", id)
	}
	token := newToken()
	text := token.Reveal()
	r := &Rotation{Hash: hashOf(text), Last4: text[tokenLength-4:]}
	if overlap > 0 {
		r.FormerUntil = s.now().Add(overlap)
	}
	k, err = s.UpdateKey(ctx, by, id, KeyUpdate{Rotate: r})
	return k, token, err
}
