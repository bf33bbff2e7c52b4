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
	// RotateFor is how long the previous secret also signs.
	RotateFor = 24 * time.Hour
	// RecoverFor is how far back missed events can be sent again: results of deliveries are stored for that time.
	RecoverFor = 28 * 24 * time.Hour
	// MostRecovered is the maximum number of deliveries that one call restarts.
	MostRecovered = 100_000
	// MaxTries is the number of last tries that are stored per delivery.
	MaxTries = 20
	// TriesInFull is the number of them that are stored with the receiver's answer.
	TriesInFull = 3
	// MaxEndpoints is the maximum number of endpoints of an account, or of the installation.
	MaxEndpoints = 20
	// mostOfAccounts and mostOfInstallation bound the number of waiting deliveries per endpoint of an account or of the
	// installation. Further events are not sent to it.
	mostOfAccounts     = 1000
	mostOfInstallation = 10_000
	// MostWaitingInAll bounds the number of waiting deliveries of all endpoints of an account.
	MostWaitingInAll = 5000
)

// MostWaiting returns the maximum number of waiting deliveries per endpoint of the account, or of the installation if
// it is empty.
func MostWaiting(account string) int {
	if account == "" {
		return mostOfInstallation
	}
	return mostOfAccounts
}

// MostKept returns the number of finished deliveries that are stored per endpoint.
func MostKept(account string) int { return 2 * MostWaiting(account) }

// These errors are returned by stores.
var (
	ErrNotFound = errors.New("webhook: not found")
	ErrTooMany  = errors.New("webhook: too many endpoints")
	ErrDisabled = errors.New("webhook: the endpoint is disabled")
	// ErrNoRoom is returned if too many deliveries wait for an endpoint, or the disk is nearly full.
	ErrNoRoom = errors.New("webhook: too many waiting deliveries")
	// ErrOtherKey is returned if the secrets in the database are now sealed with another master key.
	ErrOtherKey = errors.New("webhook: the secrets are sealed with another key")
)

// Sealed is an endpoint's sealed secret, and the name of the master key that seals it.
type Sealed struct{ Text, Key string }

// Update changes the fields of an endpoint that are not nil.
type Update struct {
	URL          *string
	Types        *[]Type
	AllowPrivate *bool
	Disabled     *bool // enabling an endpoint also clears its failures
}

// Stores holds the stores of endpoints and deliveries. Every change of an endpoint writes the audit log in the same
// transaction.
type Stores struct {
	Endpoints  EndpointStore
	Secrets    SecretStore
	Deliveries DeliveryStore
}

// EndpointStore stores endpoints.
type EndpointStore interface {
	// AddWebhook adds an endpoint. It returns ErrTooMany, ErrOtherKey, and audit.ErrNotAllowed if by is neither an
	// owner of the account nor an operator. All changes of endpoints except removal return the latter.
	AddWebhook(ctx context.Context, by audit.Actor, e Endpoint, s Sealed) error
	// Webhooks returns the endpoints of an account, or of the installation if it is empty, oldest first.
	Webhooks(ctx context.Context, account string) ([]Endpoint, error)
	// Webhook returns the endpoint with that id, or ErrNotFound.
	Webhook(ctx context.Context, id string) (Endpoint, error)
	// UpdateWebhook changes an endpoint and returns the result, or ErrNotFound.
	UpdateWebhook(ctx context.Context, by audit.Actor, id string, u Update) (Endpoint, error)
	// RemoveWebhook removes an endpoint with its deliveries, or returns ErrNotFound.
	RemoveWebhook(ctx context.Context, by audit.Actor, id string) error
}

// SecretStore stores the secrets of endpoints and the name of their master key.
type SecretStore interface {
	// MasterKey returns the name of the master key that seals the secrets. If there is none yet, newest becomes it.
	MasterKey(ctx context.Context, newest string) (string, error)
	// RotateWebhook replaces an endpoint's secret. The previous one also signs for RotateFor. It returns ErrNotFound or
	// ErrOtherKey.
	RotateWebhook(ctx context.Context, by audit.Actor, id string, s Sealed) (Endpoint, error)
}

// DeliveryStore stores deliveries.
type DeliveryStore interface {
	// TellOne writes an event and its delivery to one endpoint, even if the endpoint does not subscribe to it. It
	// returns ErrNotFound, ErrDisabled or ErrNoRoom.
	TellOne(ctx context.Context, webhook string, e Event) (delivery string, err error)
	// Deliveries returns the deliveries that a query selects.
	Deliveries(ctx context.Context, q DeliveryQuery) ([]Delivery, error)
	// Delivery returns the delivery with that id, or ErrNotFound.
	Delivery(ctx context.Context, id string) (Detail, error)
	// Redeliver restarts a delivery, due at once. It returns ErrNotFound or ErrDisabled.
	Redeliver(ctx context.Context, id string) error
	// Recover sends an endpoint the events since a time that it has not accepted, at once, and returns their number, at
	// most MostRecovered. It returns ErrNotFound, ErrDisabled or ErrNoRoom.
	Recover(ctx context.Context, id string, since time.Time) (int, error)
}

// Options configures a Service.
type Options struct {
	Stores
	Ring *seal.Ring
	// NewKey creates the ring's first key if there is none and one may be created.
	NewKey func() error
	// AllowPrivate permits every endpoint to have a private address.
	AllowPrivate bool
	Mails        bool // the installation can send mail
	Now          func() time.Time
}

// Service manages endpoints and deliveries for people. All methods are safe for concurrent use. Errors of type
// *llm.Error may be shown.
type Service struct{ options Options }

// NewService returns a service.
func NewService(o Options) *Service { return &Service{options: o} }

// Add creates an endpoint of the account, or of the installation if it is empty, and returns its secret, which is shown
// only once.
func (s *Service) Add(ctx context.Context, by audit.Actor, e Endpoint) (Endpoint, llm.Secret, error) {
	var err error
	if e.Format, err = e.Format.check(); err != nil {
		return e, llm.Secret{}, err
	}
	switch {
	case e.Format != Mail:
	case e.Account != "": // its owner could have the installation send mail to anybody
		return e, llm.Secret{}, llm.Invalid("format",
			"Only endpoints of the installation receive mail. Ask an operator.")
	case !s.options.Mails:
		return e, llm.Secret{}, llm.Invalid("format", "This installation sends no mail. Set smtp in weir.yaml first.")
	}
	if err := checkAddress(e.Format, e.URL, s.mayBePrivate(&e)); err != nil {
		return e, llm.Secret{}, err
	}
	if e.Types, err = checkTypes(e.Account, e.Types); err != nil {
		return e, llm.Secret{}, err
	}
	e.ID, e.Created = uuid.Must(uuid.NewV7()).String(), s.options.Now().UTC().Truncate(time.Microsecond)
	secret := newSecret()
	err = s.sealed(ctx, e.ID, secret, func(sealed Sealed) error {
		return s.options.Endpoints.AddWebhook(ctx, by, e, sealed)
	})
	return e, secret, forPeople(err, "")
}

// mayBePrivate reports whether the endpoint may have a private address.
func (s *Service) mayBePrivate(e *Endpoint) bool { return e.AllowPrivate || s.options.AllowPrivate }

// sealed seals an endpoint's secret with the current master key and passes it to keep. If the master key changes in the
// meantime, it tries once more.
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

// masterKey returns the name of the key that seals all secrets. The first call creates it.
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

// SecretOf returns the context that an endpoint's secret is sealed with, see seal.Ring.
func SecretOf(id string) string { return "webhook " + id }

// forPeople converts a store's error into one for people, if they can act on it.
func forPeople(err error, id string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrNotFound):
		return llm.Errorf(llm.CodeNotFound, "There is no webhook endpoint %.60q here.", id).At("webhook")
	case errors.Is(err, audit.ErrNotAllowed):
		return llm.Errorf(llm.CodeForbidden, "You may no longer do this, because your role was removed.")
	case errors.Is(err, ErrTooMany):
		return llm.Invalidf("", "There are already %d endpoints, the maximum. Remove one first.", MaxEndpoints)
	case errors.Is(err, ErrDisabled):
		return llm.Invalid("", "The endpoint is disabled. Enable it first.")
	case errors.Is(err, ErrNoRoom):
		return &llm.Error{
			Code: llm.CodeRateLimited, RetryAfter: time.Minute,
			Message: "Too many deliveries wait for this endpoint, or the disk is nearly full. Make its receiver " +
				"accept the waiting deliveries, and try again.",
		}
	case errors.Is(err, seal.ErrNoKey):
		return &llm.Error{
			Code: llm.CodeInternal,
			Message: "The secrets in the database are sealed with a key that this gateway does not have. Copy the " +
				"file secrets.key of the node that created them, or configure the same secrets.key on all nodes. " +
				"If the key is lost, remove the endpoints, run weir secrets rotate, and add them again.",
			Err: err,
		}
	}
	return err
}

// List returns the endpoints of an account, or of the installation if it is empty, oldest first.
func (s *Service) List(ctx context.Context, account string) ([]Endpoint, error) {
	return s.options.Endpoints.Webhooks(ctx, account)
}

// Endpoint returns the endpoint with that id.
func (s *Service) Endpoint(ctx context.Context, id string) (Endpoint, error) {
	e, err := s.options.Endpoints.Webhook(ctx, id)
	return e, forPeople(err, id)
}

// EndpointOf returns the endpoint with that id if it belongs to the account, or to the installation if that is empty.
// Endpoints of others look as if they did not exist.
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

// DeliveryOf returns the delivery with that id if it belongs to the endpoint.
func (s *Service) DeliveryOf(ctx context.Context, e *Endpoint, id string) (Detail, error) {
	gone := llm.Errorf(llm.CodeNotFound, "This endpoint has no such delivery. Old deliveries are "+
		"deleted.").At("delivery")
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

// Change changes an endpoint. A new address revokes the permission to be private, unless the same update grants it.
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
	if u.URL != nil || u.AllowPrivate != nil { // the permission belongs to the address
		u.URL, u.AllowPrivate = &e.URL, &e.AllowPrivate
		if err := checkAddress(e.Format, e.URL, s.mayBePrivate(&e)); err != nil {
			return e, err
		}
	}
	e, err = s.options.Endpoints.UpdateWebhook(ctx, by, id, u)
	return e, forPeople(err, id)
}

// Remove removes an endpoint with its deliveries.
func (s *Service) Remove(ctx context.Context, by audit.Actor, id string) error {
	return forPeople(s.options.Endpoints.RemoveWebhook(ctx, by, id), id)
}

// RotateSecret replaces an endpoint's secret and returns the new one, which is shown only once. The previous one also
// signs for RotateFor.
func (s *Service) RotateSecret(ctx context.Context, by audit.Actor, id string) (e Endpoint, secret llm.Secret,
	err error,
) {
	secret = newSecret()
	err = s.sealed(ctx, id, secret, func(sealed Sealed) error {
		e, err = s.options.Secrets.RotateWebhook(ctx, by, id, sealed)
		return err
	})
	return e, secret, forPeople(err, id)
}

// Test sends an endpoint a test event, and returns the id of its delivery.
func (s *Service) Test(ctx context.Context, id string) (string, error) {
	e, err := s.Endpoint(ctx, id)
	if err != nil {
		return "", err
	}
	event := NewEvent(Test, e.Account, s.options.Now(), Data{WebhookID: id})
	delivery, err := s.options.Deliveries.TellOne(ctx, id, event)
	return delivery, forPeople(err, id)
}

// Deliveries returns the deliveries that a query selects, newest first.
func (s *Service) Deliveries(ctx context.Context, q DeliveryQuery) ([]Delivery, error) {
	return s.options.Deliveries.Deliveries(ctx, q)
}

// Delivery returns the delivery with that id.
func (s *Service) Delivery(ctx context.Context, id string) (Detail, error) {
	d, err := s.options.Deliveries.Delivery(ctx, id)
	return d, noDelivery(err, id)
}

// Redeliver sends a delivery again, at once, with all retries of a new one.
func (s *Service) Redeliver(ctx context.Context, id string) error {
	return noDelivery(s.options.Deliveries.Redeliver(ctx, id), id)
}

// Recover sends an endpoint, at once, the events since a time and within RecoverFor that it has not accepted: failed
// deliveries, deliveries that wait for a retry, and subscribed events that were never sent, such as those while it was
// disabled. It returns their number, at most MostRecovered; the next call sends the rest.
func (s *Service) Recover(ctx context.Context, id string, since time.Time) (int, error) {
	now := s.options.Now()
	if since.IsZero() || since.After(now) {
		return 0, llm.Invalidf("since", "The time is missing or in the future. Give a past time, such as %s.",
			now.Add(-24*time.Hour).UTC().Format(time.RFC3339))
	}
	if first := now.Add(-RecoverFor); since.Before(first) {
		since = first
	}
	n, err := s.options.Deliveries.Recover(ctx, id, since)
	return n, forPeople(err, id)
}

func noDelivery(err error, id string) error {
	if errors.Is(err, ErrNotFound) {
		return llm.Errorf(llm.CodeNotFound, "There is no delivery %.60q here.", id).At("delivery")
	}
	return forPeople(err, "")
}
