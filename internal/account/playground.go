package account

import (
	"context"
	"strings"

	"weir/internal/audit"
	"weir/internal/llm"
)

// PlaygroundLabel is the label of the keys that Playground makes.
const PlaygroundLabel = "Playground"

// IsPlayground reports whether a key stands for somebody in the playground. Nobody has its token.
func (k *Key) IsPlayground() bool { return k.Label == PlaygroundLabel && k.Creator != "" }

// checkReserved refuses the label of the playground's keys for a key of which somebody gets the token.
func checkReserved(label string) error {
	if strings.EqualFold(strings.TrimSpace(label), PlaygroundLabel) {
		return llm.Invalidf("label", "The label %s is for keys that stand for people in the playground. Choose "+
			"another one.", PlaygroundLabel)
	}
	return nil
}

// checkPlayground refuses what would make a playground's key one whose token somebody has.
func (s *Service) checkPlayground(ctx context.Context, id string, u *KeyUpdate) error {
	if u.Rotate == nil && u.Label == nil && u.Permissions == nil {
		return nil
	}
	k, err := s.Key(ctx, id)
	switch {
	case err != nil:
		return err
	case k.IsPlayground():
		return llm.Invalid("key", "This key stands for somebody in the playground: it cannot be rotated, and its label "+
			"and permissions stay. Create another key for a program.")
	case u.Label != nil:
		return checkReserved(*u.Label)
	}
	return nil
}

// Playground is the caller for what somebody who is signed in asks models in the
// dashboard: the account's key that stands for them there, made when there is none.
// Its secret was never shown to anybody. User is their id. The error is a *llm.Error with
// CodeForbidden where the key has expired: another one would be without what was set on it.
func (s *Service) Playground(ctx context.Context, by audit.Actor, a *Account, user string) (*Principal, error) {
	keys, err := s.Keys(ctx, a.ID)
	if err != nil {
		return nil, err
	}
	for i := range keys {
		if k := &keys[i]; k.Label == PlaygroundLabel && k.Creator == user && k.Revoked == nil &&
			len(k.Permissions) == 1 && k.Permissions[0] == Chat {
			if k.State(s.clock()) == KeyExpired {
				return nil, forbidden("The API key by which you use the playground has expired. Ask an owner of the " +
					"account to change its expiry.")
			}
			return NewPrincipal(a, k), nil
		}
	}
	k, _, err := s.createKey(ctx, by, &KeyOptions{
		Account: a.ID, Label: PlaygroundLabel, Permissions: []Permission{Chat}, Creator: user,
	})
	if err != nil {
		return nil, err
	}
	return NewPrincipal(a, &k), nil
}
