package account

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"weir/internal/audit"
	"weir/internal/llm"
)

const (
	maxLabel    = 100
	maxModels   = 100 // patterns per key
	maxPattern  = 200 // characters per pattern
	maxLifetime = 100 * 365 * 24 * time.Hour
)

// KeyOptions describes a new key.
type KeyOptions struct {
	Account     string // name or id
	Label       string // 1 to 100 printable characters
	Permissions []Permission
	Models      []string      // see Principal.MayUse; empty for all
	ExpiresIn   time.Duration // from now; 0 for never
	Expires     time.Time     // exact time, in place of ExpiresIn; zero to use ExpiresIn
	Limits      Limits
	Budget      Budget
	Per         []Per
	Creator     string // id of the user who creates it; empty for none
	Client      string // see Key
	Resource    string // see Key
	Tags        KeyTags
	// Bounded refuses the key if the account has MaxBounded active keys.
	Bounded     bool
	NoContent   bool          // see Key
	AnswerCache time.Duration // see Key
}

// MaxBounded is the number of active keys of an account above which members cannot create further ones. Operators can.
const MaxBounded = 1000

// CreateKey adds a key and returns it with its token, which cannot be shown again. Without permissions it gets Chat and
// Uses. The error is a *llm.Error: CodeInvalidRequest or CodeNotFound for invalid options, CodeForbidden for the
// permission Admin if by is no longer an operator.
func (s *keys) CreateKey(ctx context.Context, by audit.Actor, o KeyOptions) (Key, llm.Secret, error) {
	if err := firstOf(checkReserved(o.Label), o.check(s.now())); err != nil {
		return Key{}, llm.Secret{}, err
	}
	return s.createKey(ctx, by, &o)
}

func (s *keys) createKey(ctx context.Context, by audit.Actor, o *KeyOptions) (Key, llm.Secret, error) {
	a, err := s.accounts.Account(ctx, o.Account)
	if err != nil {
		return Key{}, llm.Secret{}, err
	}
	if o.Bounded {
		if err := s.checkNumber(ctx, a.ID); err != nil {
			return Key{}, llm.Secret{}, err
		}
	}
	token := newToken()
	k := o.key(a.ID, s.now())
	k.Last4 = token.Reveal()[tokenLength-4:]
	err = s.stores.Keys.CreateKey(ctx, by, k, HashOf(token.Reveal()))
	if errors.Is(err, audit.ErrNotAllowed) {
		return Key{}, llm.Secret{}, notOperator()
	}
	if err != nil {
		return Key{}, llm.Secret{}, fmt.Errorf("create key: %w", err)
	}
	s.cache.forgetIDs(map[string]bool{k.ID: true})
	return k, token, nil
}

func notOperator() error {
	return forbidden("Only operators can give a key the permission \"admin\", and you are no longer an operator.")
}

// checkNumber returns an error for an account with MaxBounded active keys.
func (s *keys) checkNumber(ctx context.Context, account string) error {
	list, err := s.stores.Keys.Keys(ctx, account)
	if err != nil {
		return fmt.Errorf("count keys: %w", err)
	}
	now, used := s.now(), 0
	for i := range list {
		if list[i].State(now) == KeyActive {
			used++
		}
	}
	if used >= MaxBounded {
		return llm.Invalidf("", "The account has %d active keys. Revoke some that are not needed, or ask an operator "+
			"to create another one.", used)
	}
	return nil
}

// key builds the key of the options, without the fields that describe its token.
func (o *KeyOptions) key(account string, now time.Time) Key {
	k := Key{
		ID: NewID(), AccountID: account, Label: o.Label, Permissions: slices.Clone(o.Permissions),
		Models: slices.Clone(o.Models), Created: now, Limits: o.Limits, Budget: o.Budget, Per: slices.Clone(o.Per),
		Creator: o.Creator, Person: o.Creator, Client: o.Client, Resource: o.Resource, Tags: o.Tags,
		NoContent: o.NoContent, AnswerCache: o.AnswerCache,
	}
	if len(k.Permissions) == 0 {
		k.Permissions = []Permission{Chat, Uses}
	}
	if !o.Expires.IsZero() {
		k.Expires = new(o.Expires.UTC().Truncate(time.Microsecond))
	} else if o.ExpiresIn > 0 {
		k.Expires = new(now.Add(o.ExpiresIn).Truncate(time.Microsecond))
	}
	return k
}

func (o *KeyOptions) check(now time.Time) error {
	at := error(nil)
	if !o.Expires.IsZero() {
		at = checkExpiresAt(o.Expires, now)
	}
	return firstOf(
		checkLabel(o.Label),
		checkPermissions(o.Permissions),
		checkModels(o.Models),
		checkExpiry(o.ExpiresIn),
		at,
		checkLimits(o.Limits),
		checkBudget(o.Budget),
		checkPer(o.Per),
		checkAnswerCache(o.AnswerCache),
		CheckTags(&o.Tags),
	)
}

// MaxAnswerCache bounds the age of stored answers to the requests of a key.
const MaxAnswerCache = 366 * 24 * time.Hour

func checkAnswerCache(age time.Duration) error {
	if age < 0 || age > MaxAnswerCache || age%time.Second != 0 {
		return llm.Invalidf("answer_cache_seconds", "The age of stored answers is 1 second to %d days, in whole "+
			"seconds; 0 for no stored answers.", int(MaxAnswerCache/(24*time.Hour)))
	}
	return nil
}

// CheckKey returns an error for a key that this package would not create at that time. The error is a *llm.Error with
// CodeInvalidRequest.
func CheckKey(k *Key, now time.Time) error {
	o := KeyOptions{
		Label: k.Label, Permissions: k.Permissions, Models: k.Models, Limits: k.Limits, Budget: k.Budget, Per: k.Per,
		Tags: k.Tags, AnswerCache: k.AnswerCache,
	}
	if k.Expires != nil {
		o.Expires = *k.Expires
	}
	return o.check(now)
}

// CheckTags returns an error for tags that no request can have.
func CheckTags(t *KeyTags) error {
	if err := llm.CheckTags(t.Defaults); err != nil {
		return llm.Invalidf("tags", "The key's tags are invalid: %s. Use names of up to 64 and values of up to 512 "+
			"printable characters.", err)
	}
	names := make([]llm.Tag, len(t.Required))
	for i, name := range t.Required {
		names[i] = llm.Tag{Name: name, Value: "x"}
	}
	if err := llm.CheckTags(names); err != nil {
		return llm.Invalidf("required_tags", "The tags that the key requires are invalid: %s. Use names of up to 64 "+
			"printable characters.", err)
	}
	all := len(t.Defaults)
	for _, name := range t.Required {
		if !slices.ContainsFunc(t.Defaults, func(o llm.Tag) bool { return o.Name == name }) {
			all++
		}
	}
	if all > llm.MaxTags {
		return llm.Invalidf("required_tags", "The key sets and requires %d tags in all; a request can have at "+
			"most %d. Remove some.", all, llm.MaxTags)
	}
	return nil
}

// firstOf returns the first error that is not nil.
func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func checkLabel(label string) error {
	if n := utf8.RuneCountInString(label); n == 0 || n > maxLabel {
		return llm.Invalidf("label", "A key's label must have 1 to %d characters; this one has %d.", maxLabel, n)
	}
	unprintable := func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }
	if strings.ContainsFunc(label, unprintable) || strings.TrimSpace(label) == "" {
		return llm.Invalidf("label", "The label %q is blank or has an unprintable character. Choose another one.",
			label)
	}
	return nil
}

func checkPermissions(list []Permission) error {
	for i, p := range list {
		if p != Chat && p != Uses && p != Tools && p != Admin {
			return llm.Invalidf("permissions", "%q is not a permission. Use %q, %q, %q or %q.", p, Chat, Uses, Tools,
				Admin)
		}
		if slices.Contains(list[:i], p) {
			return llm.Invalidf("permissions", "The permission %q is listed twice. List it once.", p)
		}
	}
	return nil
}

func checkModels(list []string) error {
	if len(list) > maxModels {
		return llm.Invalidf("models", "A key can have at most %d model patterns; this one has %d.", maxModels,
			len(list))
	}
	odd := func(r rune) bool { return !unicode.IsGraphic(r) || unicode.IsSpace(r) || r == utf8.RuneError }
	for i, m := range list {
		if m == "" || len(m) > maxPattern || strings.ContainsFunc(m, odd) {
			return llm.Invalidf("models",
				`%q is not a model pattern. Use a model's name, an alias, or a pattern such as "openai/*".`, m)
		}
		if slices.Contains(list[:i], m) {
			return llm.Invalidf("models", "The model pattern %q is listed twice. List it once.", m)
		}
	}
	return nil
}

func checkExpiry(d time.Duration) error {
	if d < 0 || d > maxLifetime {
		return llm.Invalidf("expires", "A key must expire between now and a hundred years from now, not after %s.", d)
	}
	return nil
}

func checkLimits(l Limits) error {
	return firstOf(checkLimit("rpm", l.RPM), checkLimit("tpm", l.TPM), checkLimit("concurrency", l.Concurrency))
}

func checkLimit(param string, n int64) error {
	if n < 0 {
		return llm.Invalidf(param, "A limit must be 0, for no limit, or positive, not %d.", n)
	}
	return nil
}

// Keys returns the keys of the account with that name or id, oldest first, including revoked and expired ones.
func (s *keys) Keys(ctx context.Context, account string) ([]Key, error) {
	a, err := s.accounts.Account(ctx, account)
	if err != nil {
		return nil, err
	}
	list, err := s.stores.Keys.Keys(ctx, a.ID)
	if err != nil {
		return nil, fmt.Errorf("list keys: %w", err)
	}
	return list, nil
}

// Key returns the key with that id, even if revoked or expired. The error is a *llm.Error with CodeNotFound if there is
// none.
func (s *keys) Key(ctx context.Context, id string) (Key, error) {
	k, err := s.stores.Keys.Key(ctx, id)
	if errors.Is(err, ErrNotFound) {
		return Key{}, notFound("key", id)
	}
	if err != nil {
		return Key{}, fmt.Errorf("find key: %w", err)
	}
	return k, nil
}

// UpdateKey changes the fields of a key that are not nil. The error is a *llm.Error: CodeNotFound if there is no such
// key, CodeInvalidRequest for a revoked key or an invalid value, CodeForbidden for a change that u.Tighten does not
// permit.
func (s *keys) UpdateKey(ctx context.Context, by audit.Actor, id string, u KeyUpdate) (Key, error) {
	if err := firstOf(u.check(s.now()), s.checkPersonal(ctx, id, &u)); err != nil {
		return Key{}, err
	}
	k, err := s.stores.Keys.UpdateKey(ctx, by, id, u)
	switch {
	case errors.Is(err, ErrNotFound):
		return Key{}, notFound("key", id)
	case errors.Is(err, audit.ErrNotAllowed):
		return Key{}, notOperator()
	case errors.Is(err, ErrRevoked):
		return Key{}, llm.Invalidf("key", "The key %q is revoked for good. Create another one.", id)
	case err != nil:
		return Key{}, fmt.Errorf("change key: %w", err)
	}
	s.cache.forgetIDs(map[string]bool{k.ID: true})
	return k, nil
}

func (u *KeyUpdate) check(now time.Time) error {
	var errs []error
	if u.Label != nil {
		errs = append(errs, checkLabel(*u.Label))
	}
	if u.Models != nil {
		errs = append(errs, checkModels(*u.Models))
	}
	if u.Permissions != nil {
		errs = append(errs, checkPermissions(*u.Permissions))
		if len(*u.Permissions) == 0 {
			errs = append(errs, llm.Invalid("permissions", "A key needs at least one permission: "+
				"chat, uses, tools or admin."))
		}
	}
	if u.Expires != nil && !u.Expires.IsZero() {
		errs = append(errs, checkExpiresAt(*u.Expires, now))
	}
	if u.Limits != nil {
		errs = append(errs, checkLimits(*u.Limits))
	}
	if u.Budget != nil {
		errs = append(errs, checkBudget(*u.Budget))
	}
	if u.Per != nil {
		errs = append(errs, checkPer(*u.Per))
	}
	// CheckTags checks tags where both the default and the required tags are known.
	return firstOf(errs...)
}

func checkExpiresAt(at, now time.Time) error {
	if !at.After(now) || at.After(now.Add(maxLifetime)) {
		return llm.Invalidf("expires", "A key must expire between now and a hundred years from now, not at %s.",
			at.UTC().Format(time.RFC3339))
	}
	return nil
}

// RevokeKey revokes the key for good; repeating it has no effect. The error is a *llm.Error with CodeNotFound if there
// is no such key.
func (s *keys) RevokeKey(ctx context.Context, by audit.Actor, id string) (Key, error) {
	k, err := s.stores.Keys.RevokeKey(ctx, by, id, s.now())
	if errors.Is(err, ErrNotFound) {
		return Key{}, notFound("key", id)
	}
	if err != nil {
		return Key{}, fmt.Errorf("revoke key: %w", err)
	}
	s.cache.forgetIDs(map[string]bool{k.ID: true})
	return k, nil
}

// ForgetKey drops a cached key. Call it after its token was replaced in the store.
func (s *Authenticator) ForgetKey(id string) { s.cache.forgetIDs(map[string]bool{id: true}) }

// ForgetAdmins drops the cached keys with the permission Admin. Call it after some of them were revoked in the store.
func (s *Authenticator) ForgetAdmins() {
	s.cache.forget(func(p *Principal) bool { return slices.Contains(p.key.Permissions, Admin) })
}
