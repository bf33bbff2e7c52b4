package webhook

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"weir/internal/audit"
	"weir/internal/llm"
	"weir/internal/seal"
)

const (
	// RotateFor is how long the secret before the present one signs too.
	RotateFor = 24 * time.Hour
	// RecoverFor is how far back an endpoint can be sent what it has not taken: for so
	// long it is known what was delivered.
	RecoverFor = 28 * 24 * time.Hour
	// MostRecovered is how many deliveries begin anew at once.
	MostRecovered = 100_000
	// MaxTries is how many tries of a delivery are kept: the last ones.
	MaxTries = 20
	// TriesInFull is how many of them have the receiver's answer.
	TriesInFull = 3
	// MaxEndpoints is how many an account, or the installation, may have.
	MaxEndpoints = 20
	// mostOfAccounts is how many deliveries wait for an endpoint of an account at most, and
	// mostOfInstallation for one of the installation: events beyond that are not sent to it.
	mostOfAccounts     = 1000
	mostOfInstallation = 10_000
	// MostWaitingInAll is how many wait for all endpoints of an account.
	MostWaitingInAll = 5000
)

// MostWaiting is how many deliveries wait for an endpoint of the account at most, of the
// installation where it is empty.
func MostWaiting(account string) int {
	if account == "" {
		return mostOfInstallation
	}
	return mostOfAccounts
}

// MostKept is how many deliveries of an endpoint are kept, besides those that wait.
func MostKept(account string) int { return 2 * MostWaiting(account) }

// What a store says of what should or should not be there.
var (
	ErrNotFound = errors.New("webhook: not found")
	ErrTooMany  = errors.New("webhook: there are as many endpoints as there may be")
	ErrDisabled = errors.New("webhook: the endpoint is disabled")
	// ErrNoRoom says that too many deliveries wait for an endpoint, or that the disk is nearly full.
	ErrNoRoom = errors.New("webhook: no room for more deliveries")
	// ErrOtherKey says that the secrets in the database are sealed with another
	// master key by now.
	ErrOtherKey = errors.New("webhook: sealed with another key")
)

// Sealed is a secret of an endpoint as it is kept, and the name of the master key
// that it is sealed with.
type Sealed struct{ Text, Key string }

// Update is what changes of an endpoint; nil for what stays as it is.
type Update struct {
	URL          *string
	Types        *[]Type
	AllowPrivate *bool
	Disabled     *bool // an endpoint that is enabled again begins without a failure
}

// Stores is where endpoints and deliveries live. Every change of an endpoint is in the
// audit log, written in the same transaction.
type Stores struct {
	Endpoints  EndpointStore
	Secrets    SecretStore
	Deliveries DeliveryStore
}

// EndpointStore keeps endpoints.
type EndpointStore interface {
	// AddWebhook adds an endpoint; ErrTooMany, ErrOtherKey, and audit.ErrNotAllowed where by neither
	// owns the account nor is an operator, as for all that changes an endpoint but its removal.
	AddWebhook(ctx context.Context, by audit.Actor, e Endpoint, s Sealed) error
	// Webhooks are the endpoints of an account, of the installation where it is
	// empty, in the order in which they were made.
	Webhooks(ctx context.Context, account string) ([]Endpoint, error)
	// Webhook is the endpoint of that id; or ErrNotFound.
	Webhook(ctx context.Context, id string) (Endpoint, error)
	// UpdateWebhook changes an endpoint and returns it as it is then; ErrNotFound.
	UpdateWebhook(ctx context.Context, by audit.Actor, id string, u Update) (Endpoint, error)
	// RemoveWebhook takes an endpoint away with its deliveries; ErrNotFound.
	RemoveWebhook(ctx context.Context, by audit.Actor, id string) error
}

// SecretStore keeps the secrets of endpoints, and what they are sealed with.
type SecretStore interface {
	// MasterKey is the name of the master key that secrets are sealed with; newest
	// becomes it where there is none yet.
	MasterKey(ctx context.Context, newest string) (string, error)
	// RotateWebhook gives an endpoint another secret. The one before it signs too
	// for RotateFor. ErrNotFound, ErrOtherKey.
	RotateWebhook(ctx context.Context, by audit.Actor, id string, s Sealed) (Endpoint, error)
}

// DeliveryStore keeps deliveries.
type DeliveryStore interface {
	// TellOne writes an event and its delivery to one endpoint, whatever it wants;
	// ErrNotFound, ErrDisabled, ErrNoRoom.
	TellOne(ctx context.Context, webhook string, e Event) (delivery string, err error)
	// Deliveries are those that a query selects.
	Deliveries(ctx context.Context, q DeliveryQuery) ([]Delivery, error)
	// Delivery is the delivery of that id; or ErrNotFound.
	Delivery(ctx context.Context, id string) (Detail, error)
	// Redeliver lets a delivery be tried anew, at once; ErrNotFound, ErrDisabled.
	Redeliver(ctx context.Context, id string) error
	// Recover sends an endpoint at once what it has not taken of the events since a
	// time, and returns how many, MostRecovered at most; ErrNotFound, ErrDisabled, ErrNoRoom.
	Recover(ctx context.Context, id string, since time.Time) (int, error)
}

// Options is what a Service is made of.
type Options struct {
	Stores
	Ring *seal.Ring
	// NewKey makes the ring's first key, where there is none and one may be made.
	NewKey func() error
	// AllowPrivate lets every endpoint be on a private address.
	AllowPrivate bool
	Now          func() time.Time
}

// Service is what people do with endpoints. All its methods may be called at once.
// Errors of theirs that are an llm.Error may be shown.
type Service struct{ options Options }

// NewService makes a service.
func NewService(o Options) *Service { return &Service{options: o} }

// Add makes an endpoint of the account, of the installation where it is empty, and
// returns its secret, this once.
func (s *Service) Add(ctx context.Context, by audit.Actor, e Endpoint) (Endpoint, llm.Secret, error) {
	if err := checkURL(e.URL, s.mayBePrivate(&e)); err != nil {
		return e, llm.Secret{}, err
	}
	var err error
	if e.Types, err = checkTypes(e.Account, e.Types); err != nil {
		return e, llm.Secret{}, err
	}
	e.ID, e.Created = uuid.Must(uuid.NewV7()).String(), s.options.Now().UTC().Truncate(time.Microsecond)
	secret := newSecret()
	err = s.sealed(ctx, e.ID, secret, func(sealed Sealed) error {
		return s.options.Endpoints.AddWebhook(ctx, by, e, sealed)
	})
	return e, secret, told(err, "")
}

// mayBePrivate reports whether the endpoint may be on a private address.
func (s *Service) mayBePrivate(e *Endpoint) bool { return e.AllowPrivate || s.options.AllowPrivate }

// sealed seals a secret of an endpoint with the key that all secrets are sealed with,
// and keeps it, twice where the key changed meanwhile.
func (s *Service) sealed(ctx context.Context, id string, secret llm.Secret, keep func(Sealed) error) error {
	for try := 0; ; try++ {
		name, err := s.masterKey(ctx)
		if err != nil {
			return err
		}
		text, err := s.options.Ring.Seal(name, []byte(secret.Reveal()), SecretOf(id))
		if err == nil {
			err = keep(Sealed{Text: text, Key: name})
		}
		if try > 0 || !errors.Is(err, ErrOtherKey) && !errors.Is(err, seal.ErrNoKey) {
			return err
		}
	}
}

// masterKey is the name of the key that all secrets are sealed with; the first one
// makes it.
func (s *Service) masterKey(ctx context.Context) (string, error) {
	name, err := s.options.Secrets.MasterKey(ctx, s.options.Ring.Newest())
	if err != nil || name != "" {
		return name, err
	}
	if err := s.options.NewKey(); err != nil {
		return "", err
	}
	return s.options.Secrets.MasterKey(ctx, s.options.Ring.Newest())
}

// SecretOf is what a secret of an endpoint belongs to, as seal.Ring has it.
func SecretOf(id string) string { return "webhook " + id }

// told says an error in words that may be shown, where people can do something.
func told(err error, id string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrNotFound):
		return llm.Errorf(llm.CodeNotFound, "There is no webhook endpoint %.60q here.", id).At("webhook")
	case errors.Is(err, audit.ErrNotAllowed):
		return llm.Errorf(llm.CodeForbidden, "You may not do this any more: your role was taken away.")
	case errors.Is(err, ErrTooMany):
		return llm.Invalidf("", "There are %d endpoints, as many as there may be. Remove one first.", MaxEndpoints)
	case errors.Is(err, ErrDisabled):
		return llm.Invalid("", "The endpoint is disabled. Enable it first.")
	case errors.Is(err, ErrNoRoom):
		return &llm.Error{
			Code: llm.CodeRateLimited, RetryAfter: time.Minute,
			Message: "Too many deliveries wait for this endpoint, or the disk is nearly full. Have its receiver take " +
				"what waits, and try again.",
		}
	case errors.Is(err, seal.ErrNoKey):
		return &llm.Error{
			Code: llm.CodeInternal,
			Message: "The secrets in the database are sealed with a key that this gateway has not: give it the " +
				"secrets.key of the node that made them, or the same secrets.key in the configuration of all.",
			Err: err,
		}
	}
	return err
}

// List are the endpoints of an account, of the installation where it is empty, in
// the order in which they were made.
func (s *Service) List(ctx context.Context, account string) ([]Endpoint, error) {
	return s.options.Endpoints.Webhooks(ctx, account)
}

// Endpoint is the endpoint of that id.
func (s *Service) Endpoint(ctx context.Context, id string) (Endpoint, error) {
	e, err := s.options.Endpoints.Webhook(ctx, id)
	return e, told(err, id)
}

// EndpointOf is the endpoint of that id, if it is one of the account's, or of the
// installation's where that is empty: who may see the one learns nothing of others.
func (s *Service) EndpointOf(ctx context.Context, account, id string) (Endpoint, error) {
	gone := llm.Errorf(llm.CodeNotFound, "There is no such webhook endpoint here.").At("webhook")
	known, err := uuid.Parse(id)
	if err != nil {
		return Endpoint{}, gone
	}
	e, err := s.options.Endpoints.Webhook(ctx, known.String())
	if err == nil && e.Account != account || errors.Is(err, ErrNotFound) {
		return Endpoint{}, gone
	}
	return e, err
}

// DeliveryOf is the delivery of that id, if it is one of the endpoint's.
func (s *Service) DeliveryOf(ctx context.Context, e *Endpoint, id string) (Detail, error) {
	gone := llm.Errorf(llm.CodeNotFound, "This endpoint has no such delivery. Deliveries are kept "+
		"for a time.").At("delivery")
	known, err := uuid.Parse(id)
	if err != nil {
		return Detail{}, gone
	}
	d, err := s.options.Deliveries.Delivery(ctx, known.String())
	if err == nil && d.Webhook != e.ID || errors.Is(err, ErrNotFound) {
		return Detail{}, gone
	}
	return d, err
}

// Change changes an endpoint. A new address takes back the permission to be on a
// private one, unless the same update gives it.
func (s *Service) Change(ctx context.Context, by audit.Actor, id string, u Update) (Endpoint, error) {
	e, err := s.Endpoint(ctx, id)
	if err != nil {
		return e, err
	}
	if u.Types != nil {
		types, err := checkTypes(e.Account, *u.Types)
		if err != nil {
			return e, err
		}
		u.Types = &types
	}
	if u.URL != nil && *u.URL != e.URL {
		e.URL, e.AllowPrivate = *u.URL, false
	}
	if u.AllowPrivate != nil {
		e.AllowPrivate = *u.AllowPrivate
	}
	if u.URL != nil || u.AllowPrivate != nil { // the one was permitted for the other
		u.URL, u.AllowPrivate = &e.URL, &e.AllowPrivate
		if err := checkURL(e.URL, s.mayBePrivate(&e)); err != nil {
			return e, err
		}
	}
	e, err = s.options.Endpoints.UpdateWebhook(ctx, by, id, u)
	return e, told(err, id)
}

// Remove takes an endpoint away, with its deliveries.
func (s *Service) Remove(ctx context.Context, by audit.Actor, id string) error {
	return told(s.options.Endpoints.RemoveWebhook(ctx, by, id), id)
}

// RotateSecret gives an endpoint another secret and returns it, this once. The one
// before it signs too for RotateFor.
func (s *Service) RotateSecret(ctx context.Context, by audit.Actor, id string) (e Endpoint, secret llm.Secret,
	err error,
) {
	secret = newSecret()
	err = s.sealed(ctx, id, secret, func(sealed Sealed) error {
		e, err = s.options.Secrets.RotateWebhook(ctx, by, id, sealed)
		return err
	})
	return e, secret, told(err, id)
}

// Test sends an endpoint an event that tells nothing, and returns the id of its
// delivery.
func (s *Service) Test(ctx context.Context, id string) (string, error) {
	e, err := s.Endpoint(ctx, id)
	if err != nil {
		return "", err
	}
	event := NewEvent(Test, e.Account, s.options.Now(), Data{WebhookID: id})
	delivery, err := s.options.Deliveries.TellOne(ctx, id, event)
	return delivery, told(err, id)
}

// Deliveries are those that a query selects, the newest first.
func (s *Service) Deliveries(ctx context.Context, q DeliveryQuery) ([]Delivery, error) {
	return s.options.Deliveries.Deliveries(ctx, q)
}

// Delivery is the delivery of that id.
func (s *Service) Delivery(ctx context.Context, id string) (Detail, error) {
	d, err := s.options.Deliveries.Delivery(ctx, id)
	return d, noDelivery(err, id)
}

// Redeliver sends a delivery again, at once and then as one that is new.
func (s *Service) Redeliver(ctx context.Context, id string) error {
	return noDelivery(s.options.Deliveries.Redeliver(ctx, id), id)
}

// Recover sends an endpoint at once what it has not taken of the events since a time, and
// of the last RecoverFor: deliveries that failed or wait for their next try, and events
// that it wants and was never sent, such as those of while it was disabled. It returns
// how many, MostRecovered at most: then the next call has the rest.
func (s *Service) Recover(ctx context.Context, id string, since time.Time) (int, error) {
	now := s.options.Now()
	if since.IsZero() || since.After(now) {
		return 0, llm.Invalidf("since", "Since when? Give a time that has passed, such as %s.",
			now.Add(-24*time.Hour).UTC().Format(time.RFC3339))
	}
	if first := now.Add(-RecoverFor); since.Before(first) {
		since = first
	}
	n, err := s.options.Deliveries.Recover(ctx, id, since)
	return n, told(err, id)
}

func noDelivery(err error, id string) error {
	if errors.Is(err, ErrNotFound) {
		return llm.Errorf(llm.CodeNotFound, "There is no delivery %.60q here.", id).At("delivery")
	}
	return told(err, "")
}
