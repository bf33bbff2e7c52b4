package dashboard

import (
	"context"
	"net/http"
	"strings"
	"time"

	"weir/internal/account"
	"weir/internal/admin"
	"weir/internal/budget"
	"weir/internal/llm"
	"weir/internal/people"
)

// keyHandlers serves the pages of API keys.
type keyHandlers struct {
	site         *site
	admin        *admin.Admin
	publicURL    func(*http.Request) string
	exampleModel func() string
	once         *once
	installation *Installation
}

// keysPage shows the list of an account's keys.
type keysPage struct {
	Suspended bool
	CanMake   bool
	NewPath   string
	Views     []Link
	Keys      []keyRow
	Shown     string // how many of them are shown; empty for all
	Empty     Empty
}

// keyRow shows a key in the list.
type keyRow struct {
	ID, Label, Last4 string
	Path             string // of the key's own page
	Spent            spending
	Badge            Badge
	By               string // creator; empty if unknown
	Service          bool   // it belongs to no person
	Client           string // program that acts for the creator by OAuth; empty for none
	Permissions      string
	Models           []string
	Bounds           []string // limits and budget
	Created          time.Time
	Expires          *time.Time
	Used             *time.Time
	Past             bool // revoked or expired
	CanRevoke        bool
	Revoke           Confirm
}

func (h *keyHandlers) list(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	all, err := h.admin.Accounts.Keys(r.Context(), v.Account.ID)
	if err != nil {
		return err
	}
	used, err := h.admin.Reports.KeysUsed(r.Context(), v.Account.ID)
	if err != nil {
		return err
	}
	makers, err := h.makers(r, v)
	if err != nil {
		return err
	}
	p := keysPageOf(v, all, r.URL.Query().Get("show") == "past", h.site.now())
	spent, err := h.spent(r.Context(), v.Account.ID)
	if err != nil {
		return err
	}
	for i := range p.Keys {
		k := &p.Keys[i]
		k.By, k.Spent = makers[k.By], spent[k.ID]
		if at, ok := used[k.ID]; ok {
			k.Used = &at
		}
	}
	return h.site.show(w, r, v, page{name: "keys", title: "API Keys", data: p})
}

// mostSpends bounds the keys whose spending is read; an account has fewer in use.
const mostSpends = 5000

// spent returns the spending of keys in this UTC month, by id.
func (h *keyHandlers) spent(ctx context.Context, accountID string) (map[string]spending, error) {
	now := h.site.now().UTC()
	month := monthOf(now, time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC))
	list, err := h.admin.Reports.KeySpend(ctx, accountID, month.first(), month.last(), mostSpends)
	sums := make(map[string]spending, len(list))
	for _, k := range list {
		sums[k.Key] = spendingOf(k.Cost, k.Uncertain, k.Unpriced)
	}
	return sums, err
}

// makers returns the names of the account's members, by id.
func (h *keyHandlers) makers(r *http.Request, v *people.Visit) (map[string]string, error) {
	members, err := h.admin.People.Members(r.Context(), v.Account.ID)
	if err != nil {
		return nil, err
	}
	names := map[string]string{}
	for _, m := range members {
		names[m.UserID] = nameOf(m.Name, m.Email)
	}
	return names, nil
}

// nameOf returns a person's name, or the e-mail address if there is none.
func nameOf(name, email string) string {
	if name != "" {
		return name
	}
	return email
}

// keysPageOf builds the page without data from other services. It lists valid keys newest first, at most mostKeys;
// past keys have their own view.
func keysPageOf(v *people.Visit, all []account.Key, past bool, now time.Time) keysPage {
	base := accountPath(v.Account.Name) + "/keys"
	p := keysPage{
		Suspended: v.Account.Suspended, CanMake: v.May(people.Use, v.Account.ID) == nil, NewPath: base + "/new",
	}
	count := [2]int64{}
	for i := len(all) - 1; i >= 0; i-- {
		k := &all[i]
		isPast := k.State(now) != account.KeyActive
		if isPast {
			count[1]++
		} else {
			count[0]++
		}
		if isPast == past && len(p.Keys) < mostKeys {
			p.Keys = append(p.Keys, keyRowOf(v, base, k, now))
		}
	}
	found := count[0]
	if past {
		found = count[1]
	}
	p.Shown = shownOf(found, mostKeys, "API keys, newest first. The API and weir keys list show all.")
	if count[1] > 0 {
		p.Views = []Link{
			{Label: "Active " + number(count[0]), Href: base, Current: !past},
			{Label: "Revoked and expired " + number(count[1]), Href: base + "?show=past", Current: past},
		}
	}
	p.Empty = Empty{
		Icon: "keys", Title: "No API keys",
		Text: "A client sends an API key with each request. Generate a key: the next page shows how to use it.",
	}
	if p.CanMake {
		p.Empty.Action, p.Empty.Href = "Generate New Key", p.NewPath
	} else {
		p.Empty.Text = "A client sends an API key with each request. Owners and members can generate keys."
	}
	return p
}

func keyRowOf(v *people.Visit, base string, k *account.Key, now time.Time) keyRow {
	row := keyRow{
		ID: k.ID, Path: base + "/" + k.ID, Label: k.Label, Last4: k.Last4, By: k.Creator,
		Service: k.Creator == "", Client: k.Client, Models: k.Models, Bounds: boundsOf(k.Limits, k.Budget),
		Created: k.Created, Expires: k.Expires, Permissions: permissionsOf(k.Permissions),
	}
	switch k.State(now) {
	case account.KeyRevoked:
		row.Badge, row.Past = Badge{"off", "Revoked"}, true
	case account.KeyExpired:
		row.Badge, row.Past = Badge{"off", "Expired"}, true
	default:
		row.Badge = Badge{"good", "Active"}
	}
	row.CanRevoke = k.Revoked == nil && v.MayRevokeKey(k) == nil
	row.Revoke = Confirm{
		Ident: "revoke-" + k.ID, Button: "Revoke", Object: k.Label, Title: "Revoke this key?",
		Text: "Requests with “" + k.Label + "”, which ends in " + k.Last4 +
			", will be refused within a second. This cannot be undone.",
		Action: base + "/" + k.ID + "/revoke", Verb: "Revoke the key",
	}
	return row
}

func permissionsOf(list []account.Permission) string {
	var words []string
	for _, p := range list {
		words = append(words, string(p))
	}
	return strings.Join(words, ", ")
}

// boundsOf describes limits and a budget, one per line.
func boundsOf(l account.Limits, b account.Budget) []string {
	var all []string
	for _, one := range []struct {
		n    int64
		unit string
	}{{l.RPM, "requests/min"}, {l.TPM, "tokens/min"}, {l.Concurrency, "at a time"}} {
		if one.n > 0 {
			all = append(all, number(one.n)+" "+one.unit)
		}
	}
	if b.Limit > 0 {
		all = append(all, budgetText(b))
	}
	return all
}

func budgetText(b account.Budget) string {
	switch b.Period {
	case budget.PeriodDay:
		return dollars(b.Limit) + " a day"
	case budget.PeriodMonth:
		return dollars(b.Limit) + " a month"
	}
	return dollars(b.Limit) + " in total"
}

func (h *keyHandlers) revoke(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	k, err := h.find(r, v)
	if err != nil {
		return err
	}
	if err := v.MayRevokeKey(k); err != nil {
		return err
	}
	_, err = h.admin.Accounts.RevokeKey(r.Context(), v.By, k.ID)
	return goAfter(w, r, accountPath(v.Account.Name)+"/keys?done=key-revoked", err)
}

// find returns the key in the path, if it belongs to the visit's account.
func (h *keyHandlers) find(r *http.Request, v *people.Visit) (*account.Key, error) {
	k, err := h.admin.Accounts.Key(r.Context(), r.PathValue("id"))
	if err == nil && k.AccountID != v.Account.ID || err != nil && llm.AsError(err).Code == llm.CodeNotFound {
		return nil, llm.Errorf(llm.CodeNotFound, "There is no such key in this account.")
	}
	return &k, err
}
