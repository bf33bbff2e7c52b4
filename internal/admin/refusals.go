package admin

import (
	"context"
	"time"

	"github.com/google/uuid"

	"weir/internal/account"
	"weir/internal/llm"
	"weir/internal/refusal"
	"weir/internal/store"
)

// Refusals reads the counts of refused requests, and the latest ones.
type Refusals struct {
	store    *store.DB
	accounts *account.Service
	await    func(context.Context) // waits until the refusals of this node are written; nil in commands
}

// RefusalReport holds the refusals that a query selects.
type RefusalReport struct {
	Total  int64            `json:"total"`
	Counts []RefusalCount   `json:"counts"` // at most refusal.MostSums
	Latest []RefusedRequest `json:"latest"` // at most refusal.MostLatest
}

// RefusalCount is a number of refusals. Fields that the counts are not grouped by are nil.
type RefusalCount struct {
	Start       *time.Time `json:"start"` // of the minute, hour or day
	AccountID   *string    `json:"account_id"`
	AccountName *string    `json:"account_name"`
	KeyID       *string    `json:"key_id"` // empty if the request was not authenticated
	KeyLabel    *string    `json:"key_label"`
	Reason      *llm.Code  `json:"reason"`
	Model       *string    `json:"model"` // as requested; empty if it is not known
	Count       int64      `json:"count"`
}

// RefusedRequest is a request without an attempt at a provider.
type RefusedRequest struct {
	ID          string    `json:"id"`
	Arrived     time.Time `json:"arrived"`
	AccountID   string    `json:"account_id"` // empty if the request was not authenticated
	AccountName string    `json:"account_name"`
	KeyID       string    `json:"key_id"`
	KeyLabel    string    `json:"key_label"`
	Model       string    `json:"model"` // as requested
	Reason      llm.Code  `json:"reason"`
	Status      int       `json:"status"` // HTTP status of the answer
	Message     string    `json:"message"`
}

// ReadOf answers a query about the account with that name, or about all accounts and requests without one if the name
// is empty.
func (r *Refusals) ReadOf(ctx context.Context, accountName string, q refusal.Query) (RefusalReport, error) {
	q.All = accountName == ""
	if !q.All {
		acc, err := r.accounts.Account(ctx, accountName)
		if err != nil {
			return RefusalReport{}, llm.AsError(err).At("account")
		}
		q.Account = acc.ID
	}
	return r.Read(ctx, q)
}

// Read answers a query, including the refusals of this node until now.
func (r *Refusals) Read(ctx context.Context, q refusal.Query) (v RefusalReport, err error) {
	r.written(ctx)
	found, err := r.store.Refusals.Read(ctx, q)
	if err != nil {
		return v, err
	}
	names, err := r.store.Reports.AccountNames(ctx)
	if err != nil {
		return v, err
	}
	v = RefusalReport{found.Total, []RefusalCount{}, []RefusedRequest{}}
	for i := range found.Sums {
		v.Counts = append(v.Counts, viewRefusalCount(q.By, &found.Sums[i], names))
	}
	for i := range found.Latest {
		v.Latest = append(v.Latest, viewRefusal(&found.Latest[i], names))
	}
	return v, nil
}

// RefusalSeries holds the refusals of a query by one group, and by time.
type RefusalSeries struct {
	Total  int64
	Groups []RefusalCount // the largest first, at most refusal.MostSums
	Times  []RefusalCount // of all groups
	Apart  []RefusalCount // by time, of the largest groups
}

// Series answers a query by one group, and by a unit of time for all groups together and for each of the largest ones,
// at most that many.
func (r *Refusals) Series(ctx context.Context, q refusal.Query, unit refusal.Group, apart int) (
	v RefusalSeries, err error,
) {
	r.written(ctx)
	found, err := r.store.Refusals.Series(ctx, q, unit, apart)
	if err != nil {
		return v, err
	}
	names, err := r.store.Reports.AccountNames(ctx)
	view := func(by []refusal.Group, sums []refusal.Sum) (list []RefusalCount) {
		for i := range sums {
			list = append(list, viewRefusalCount(by, &sums[i], names))
		}
		return list
	}
	return RefusalSeries{
		found.Total, view(q.By, found.Groups), view([]refusal.Group{unit}, found.Times),
		view([]refusal.Group{unit, q.By[0]}, found.Apart),
	}, err
}

// Count returns the number of refusals that a query selects, including those of this node until now.
func (r *Refusals) Count(ctx context.Context, q refusal.Query) (int64, error) {
	r.written(ctx)
	return r.store.Refusals.Count(ctx, q)
}

// Find returns the refused request with that id; false if there is none, or it is not among the latest of its account.
func (r *Refusals) Find(ctx context.Context, id uuid.UUID) (v RefusedRequest, there bool, err error) {
	r.written(ctx)
	x, there, err := r.store.Refusals.Find(ctx, id)
	if err != nil || !there {
		return v, false, err
	}
	names, err := r.store.Reports.AccountNames(ctx)
	return viewRefusal(&x, names), true, err
}

// written waits until the database has the refusals of this node. If they cannot be written, the reports lack them.
func (r *Refusals) written(ctx context.Context) {
	if r.await != nil {
		r.await(ctx)
	}
}

func viewRefusalCount(by []refusal.Group, s *refusal.Sum, names map[string]string) RefusalCount {
	v := RefusalCount{Count: s.N}
	for _, g := range by {
		switch g {
		case refusal.ByAccount:
			v.AccountID, v.AccountName = &s.Account, new(names[s.Account])
		case refusal.ByKey:
			v.KeyID, v.KeyLabel = &s.Key, &s.KeyLabel
		case refusal.ByReason:
			v.Reason = &s.Reason
		case refusal.ByModel:
			v.Model = &s.Model
		default:
			v.Start = new(time.Unix(s.Minute, 0).UTC())
		}
	}
	return v
}

func viewRefusal(x *refusal.Refusal, names map[string]string) RefusedRequest {
	return RefusedRequest{
		ID: x.Request.String(), Arrived: x.At, AccountID: x.Account, AccountName: names[x.Account], KeyID: x.Key,
		KeyLabel: x.KeyLabel, Model: x.Model, Reason: x.Reason, Status: x.Status, Message: x.Message,
	}
}
