package admin

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/contentlog"
	"weir/internal/llm"
	"weir/internal/store"
)

// Content reads and deletes the content log.
type Content struct {
	store     *store.DB
	accounts  *account.Service
	keys      *contentlog.Keys
	retention func() time.Duration
	await     func(context.Context) // waits until the content of this node's requests is written; nil in commands
}

func newContent(o *Options, ring *KeyRing, accounts *account.Service) *Content {
	return &Content{
		store: o.Store, accounts: accounts, await: o.AwaitContent,
		keys: &contentlog.Keys{Store: o.Store.Content, Seal: ring.Sealed, Open: ring.Open},
		retention: func() time.Duration {
			if o.InForce != nil {
				cfg, _ := o.InForce()
				return cfg.Retention.Content
			}
			return o.Config.Retention.Content
		},
	}
}

// Keys returns the keys that encrypt content.
func (c *Content) Keys() *contentlog.Keys { return c.keys }

// LoggedContent is the content of a request.
type LoggedContent struct {
	RequestID string    `json:"request_id"`
	AccountID string    `json:"account_id"`
	KeyID     string    `json:"key_id"`
	Created   time.Time `json:"created"` // when the request was sent to a provider
	Expires   time.Time `json:"expires"`
	contentlog.Content
	Error string `json:"error,omitempty"` // why an export lacks the content; empty if it has it
}

// ContentUsage is the amount of content that is logged for an account.
type ContentUsage struct {
	Account string `json:"account_id"` // id
	Items   int64  `json:"requests"`
	Bytes   int64  `json:"bytes"`
}

// ContentAmount is that of the account of a name.
type ContentAmount struct {
	Name string `json:"account"`
	ContentUsage
}

// List returns the amount of each account with logged content.
func (c *Content) List(ctx context.Context) ([]ContentAmount, error) {
	c.written(ctx)
	all, err := c.store.Content.Usage(ctx)
	if err != nil {
		return nil, err
	}
	names, err := c.store.Reports.AccountNames(ctx)
	list := make([]ContentAmount, len(all))
	for i, u := range all {
		list[i] = ContentAmount{names[u.Account], ContentUsage(u)}
	}
	return list, err
}

// Has reports whether the content of a request is logged.
func (c *Content) Has(ctx context.Context, account string, request uuid.UUID) (bool, error) {
	c.written(ctx)
	return c.store.Content.Has(ctx, account, request, c.since())
}

// Read returns the content of a request, and records that in the audit log. The account is an id. The error is a
// *llm.Error with CodeNotFound if there is no content.
func (c *Content) Read(ctx context.Context, by audit.Actor, account string, request uuid.UUID) (LoggedContent, error) {
	c.written(ctx)
	r, err := c.store.Content.Read(ctx, by, account, request, c.since())
	if errors.Is(err, contentlog.ErrNotFound) {
		return LoggedContent{}, noContent()
	}
	if err != nil {
		return LoggedContent{}, err
	}
	return c.view(ctx, &r)
}

func noContent() error {
	return llm.Errorf(llm.CodeNotFound, "The content of this request is not logged, or it was deleted. Content is "+
		"logged only for accounts and keys that have that switched on.").At("id")
}

// Unreadable is the error of an export that has everything except the content of requests that cannot be decrypted.
type Unreadable struct {
	Count    int64
	Requests []string // the ids of the first ones, at most mostUnreadable
	Err      error    // of the first one
}

const mostUnreadable = 10

func (u *Unreadable) Error() string {
	ids := strings.Join(u.Requests, ", ")
	if int64(len(u.Requests)) < u.Count {
		ids += ", …"
	}
	return fmt.Sprintf("The content of %d requests is missing, because it cannot be decrypted: %s. The reason of the "+
		"first one: %v. If a master key was lost, restore its file.", u.Count, ids, u.Err)
}

func (u *Unreadable) Unwrap() error { return u.Err }

// Export calls fn with the content of an account's requests in a period, oldest first, and records that in the audit
// log. A zero until means now. Content that cannot be decrypted has the reason in Error, and Export returns an
// *Unreadable at its end.
func (c *Content) Export(ctx context.Context, by audit.Actor, a *account.Account, from, until time.Time,
	fn func(*LoggedContent) error,
) error {
	c.written(ctx)
	if until.IsZero() {
		until = c.store.Now()
	}
	if since := c.since(); from.Before(since) {
		from = since
	}
	q := store.ContentQuery{Account: a.ID, From: from, Until: until}
	var lost Unreadable
	err := c.store.Content.Export(ctx, by, objectOf(a), q, func(r *contentlog.Record) error {
		v, err := c.view(ctx, r)
		if errors.Is(err, contentlog.ErrUnreadable) {
			lost.add(v.RequestID, err)
			v.Error, err = "The content cannot be decrypted.", nil
		}
		if err != nil {
			return err
		}
		return fn(&v)
	})
	if err == nil && lost.Count > 0 {
		err = &lost
	}
	return err
}

func (u *Unreadable) add(request string, err error) {
	if u.Count++; u.Err == nil {
		u.Err = err
	}
	if len(u.Requests) < mostUnreadable {
		u.Requests = append(u.Requests, request)
	}
}

// Purge deletes the content of an account that was logged before a time; zero for all of it. The amount is that of the
// deleted content.
func (c *Content) Purge(ctx context.Context, by audit.Actor, a *account.Account, before time.Time) (ContentUsage,
	error,
) {
	c.written(ctx)
	if before.IsZero() {
		before = c.store.Now()
	}
	gone, err := c.store.Content.Purge(ctx, by, objectOf(a), before, uuid.Nil)
	return ContentUsage(gone), err
}

// Remove deletes the content of a request. The error is a *llm.Error with CodeNotFound if there is none.
func (c *Content) Remove(ctx context.Context, by audit.Actor, a *account.Account, request uuid.UUID) error {
	c.written(ctx)
	gone, err := c.store.Content.Purge(ctx, by, objectOf(a), time.Time{}, request)
	if err == nil && gone.Items == 0 {
		err = noContent()
	}
	return err
}

func objectOf(a *account.Account) audit.Object {
	return audit.Object{Kind: "account", ID: a.ID, Name: a.Name}
}

// since returns the time from which content may be read.
func (c *Content) since() time.Time { return c.store.Now().Add(-c.retention()) }

func (c *Content) view(ctx context.Context, r *contentlog.Record) (v LoggedContent, err error) {
	v = LoggedContent{
		RequestID: r.Request.String(), AccountID: r.Account, KeyID: r.Key, Created: r.Created,
		Expires: r.Created.Add(c.retention()),
	}
	v.Content, err = c.keys.Read(ctx, r)
	return v, err
}

// written waits until the database has the content of this node's requests.
func (c *Content) written(ctx context.Context) {
	if c.await != nil {
		c.await(ctx)
	}
}
