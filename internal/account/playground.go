package account

import (
	"context"
	"strings"

	"weir/internal/audit"
	"weir/internal/llm"
)

// PlaygroundLabel is the label of keys that Playground creates.
const PlaygroundLabel = "Playground"

// IsPlayground reports whether a key represents a person in the playground. Its token was never shown to anyone.
func (k *Key) IsPlayground() bool { return k.Label == PlaygroundLabel && k.Creator != "" }

// checkReserved refuses the label of the playground's keys for other keys.
func checkReserved(label string) error {
	if strings.EqualFold(strings.TrimSpace(label), PlaygroundLabel) {
		return llm.Invalidf("label", "The label %s is reserved for keys of the playground. Choose "+
			"another one.", PlaygroundLabel)
	}
	return nil
}

// IsPersonal reports whether a key acts for a person, in the playground or in a program that the person has admitted
// by OAuth. It ends with the person's role.
func (k *Key) IsPersonal() bool { return k.IsPlayground() || k.Client != "" }

// checkPersonal refuses changes that would turn a personal key into an ordinary one.
func (s *keys) checkPersonal(ctx context.Context, id string, u *KeyUpdate) error {
	if u.Rotate == nil && u.Label == nil && u.Permissions == nil && u.Expires == nil {
		return nil
	}
	k, err := s.Key(ctx, id)
	switch {
	case err != nil:
		return err
	case k.Client != "":
		return llm.Invalid("key", "This key belongs to a program of a person: it cannot be rotated, and "+
			"its label, permissions and expiry cannot be changed. Revoke it to end the program's access.")
	case u.Rotate == nil && u.Label == nil && u.Permissions == nil:
		return nil
	case k.IsPlayground():
		return llm.Invalid("key", "This is a key of the playground: it cannot be rotated, and its label and "+
			"permissions cannot be changed. Create another key for a program.")
	case u.Label != nil:
		return checkReserved(*u.Label)
	}
	return nil
}

// Playground returns the caller for a person's requests in the dashboard's playground: the account's key for that
// person, which is created if there is none. Its secret is never shown. User is the person's id. The error is a
// *llm.Error with CodeForbidden if the key has expired, because a new key would lack the limits that were set on it.
// The key has only that permission: a person has one key for each.
func (s *keys) Playground(ctx context.Context, by audit.Actor, a *Account, user string, of Permission) (
	*Principal, error,
) {
	keys, err := s.Keys(ctx, a.ID)
	if err != nil {
		return nil, err
	}
	for i := range keys {
		if k := &keys[i]; k.Label == PlaygroundLabel && k.Creator == user && k.Revoked == nil &&
			len(k.Permissions) == 1 && k.Permissions[0] == of {
			if k.State(s.clock()) == KeyExpired {
				return nil, forbidden("Your API key for the playground has expired. Ask an owner of the " +
					"account to change its expiry.")
			}
			return NewPrincipal(a, k), nil
		}
	}
	k, _, err := s.createKey(ctx, by, &KeyOptions{
		Account: a.ID, Label: PlaygroundLabel, Permissions: []Permission{of}, Creator: user,
	})
	if err != nil {
		return nil, err
	}
	return NewPrincipal(a, &k), nil
}
