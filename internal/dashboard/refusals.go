package dashboard

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"weir/internal/admin"
	"weir/internal/llm"
	"weir/internal/people"
	"weir/internal/refusal"
	"weir/internal/report"
)

// endedRefused is the filter for requests without an attempt at a provider. The ledger does not have them.
const endedRefused = "refused"

// refusedOver is the period of refusals, if no dates are chosen.
const refusedOver = 24 * time.Hour

// refusedView shows refused requests: their counts, and the latest.
type refusedView struct {
	Unfit  bool // a filter is set that refused requests do not have
	Total  int64
	Period string
	Counts []refusedCount
	Latest []refusedRow
}

// refusedCount shows a number of refusals.
type refusedCount struct {
	Reason, Code string
	Key, Model   string
	Count        int64
}

// refusedRow shows a refused request. It is also the data of its page.
type refusedRow struct {
	ID, Href     string
	Arrived      time.Time
	Reason, Code string
	Status       int
	Model, Key   string
	Message      string
	KeyPath      string // refusals of the key
	ListPath     string // all refusals
	Remedy       string // place in the documentation
}

// refusalNotice tells on a page how many requests were refused.
type refusalNotice struct {
	Count int64
	Href  string
}

// reasonText returns the words for the reason of a refusal.
func reasonText(code llm.Code) string {
	switch code {
	case llm.CodeInvalidRequest:
		return "Invalid request"
	case llm.CodeAuthentication:
		return "No valid key"
	case llm.CodeBudgetExceeded:
		return "Budget exceeded"
	case refusal.CodePriceUnknown:
		return "No price under a budget"
	case llm.CodeForbidden:
		return "Not permitted"
	case llm.CodeNotFound:
		return "Not found"
	case llm.CodeModelNotFound:
		return "Unknown model"
	case llm.CodeMethodNotAllowed:
		return "Wrong method"
	case llm.CodeIdempotencyConflict:
		return "Idempotency conflict"
	case llm.CodeRequestTooLarge:
		return "Too large"
	case llm.CodeUnsupportedMedia:
		return "Wrong content type"
	case llm.CodeRateLimited:
		return "Rate limit"
	case llm.CodeProviderUnavailable:
		return "Provider unavailable"
	case llm.CodeOverloaded:
		return "Overload"
	case llm.CodeInternal:
		return "Internal error"
	}
	return string(code)
}

// remedyOf returns the place in the documentation with the remedy for an error code.
func remedyOf(code llm.Code) string {
	if code == refusal.CodePriceUnknown {
		code = llm.CodeForbidden // as clients get it
	}
	return "/docs/troubleshooting#" + strconv.Itoa(code.Status()) + "-" + strings.ToLower(string(code))
}

// refusedNotice returns the number of an account's refusals of the last 24 hours, of all keys if key is empty.
func refusedNotice(ctx context.Context, a *admin.Admin, v *people.Visit, key string, now time.Time) (n refusalNotice,
	err error,
) {
	count, err := a.Refusals.Count(ctx, refusal.Query{Account: v.Account.ID, Key: key, From: now.Add(-refusedOver)})
	q := url.Values{"ended": {endedRefused}}
	if key != "" {
		q.Set("key", key)
	}
	return refusalNotice{count, accountPath(v.Account.Name) + "/requests?" + q.Encode()}, err
}

// refused reads the refusals that the filters of a list select.
func (h *requestHandlers) refused(ctx context.Context, base string, q *report.RequestsQuery,
	labels map[string]string,
) (*refusedView, error) {
	if q.ID != uuid.Nil || q.ReplyID != "" || q.User != "" || len(q.Tags) > 0 || q.Status != 0 ||
		q.Costs.Least != nil || q.Costs.Most != nil {
		return &refusedView{Unfit: true}, nil
	}
	now := h.site.now()
	wanted := refusal.Query{
		Account: q.Account, Key: q.Key, Model: cmp.Or(q.Requested, q.Model), Reason: q.Code,
		From: now.Add(-refusedOver), By: []refusal.Group{refusal.ByReason, refusal.ByKey, refusal.ByModel},
	}
	period := "in the last 24 hours"
	if q.From != "" || q.To != "" {
		period = "in this period"
		wanted.From, _ = time.Parse(time.DateOnly, q.From) // the form was checked; zero means no bound
		if until, err := time.Parse(time.DateOnly, q.To); err == nil {
			wanted.Until = until.AddDate(0, 0, 1)
		}
	}
	found, err := h.admin.Refusals.Read(ctx, wanted)
	return refusedViewOf(base, period, &found, labels), err
}

func refusedViewOf(base, period string, found *admin.RefusalReport, labels map[string]string) *refusedView {
	v := &refusedView{Total: found.Total, Period: period}
	for i := range found.Counts {
		c := &found.Counts[i]
		v.Counts = append(v.Counts, refusedCount{
			Reason: reasonText(*c.Reason), Code: string(*c.Reason), Key: cmp.Or(labels[*c.KeyID], "an unknown key"),
			Model: *c.Model, Count: c.Count,
		})
	}
	for i := range found.Latest {
		v.Latest = append(v.Latest, refusedRowOf(base, &found.Latest[i], labels))
	}
	return v
}

func refusedRowOf(base string, x *admin.RefusedRequest, labels map[string]string) refusedRow {
	list := base + "?ended=" + endedRefused
	return refusedRow{
		ID: x.ID, Href: base + "/" + x.ID, Arrived: x.Arrived, Reason: reasonText(x.Reason), Code: string(x.Reason),
		Status: x.Status, Model: x.Model, Key: cmp.Or(labels[x.KeyID], "an unknown key"), Message: x.Message,
		KeyPath: list + "&key=" + x.KeyID, ListPath: list, Remedy: remedyOf(x.Reason),
	}
}

// showRefused shows a refused request; false if the account has none with the id in the path.
func (h *requestHandlers) showRefused(w http.ResponseWriter, r *http.Request, v *people.Visit) (bool, error) {
	id, err := uuid.Parse(r.PathValue("id"))
	if err != nil {
		return false, nil //nolint:nilerr // the caller reports that there is no such request
	}
	x, there, err := h.admin.Refusals.Find(r.Context(), id)
	if err != nil || !there || x.AccountID != v.Account.ID {
		return false, err
	}
	keys, err := h.admin.Accounts.Keys(r.Context(), v.Account.ID)
	if err != nil {
		return false, err
	}
	p := refusedRowOf(accountPath(v.Account.Name)+"/requests", &x, labelsOf(keys))
	return true, h.site.show(w, r, v, page{name: "refusal", title: "Refused request", data: p})
}
