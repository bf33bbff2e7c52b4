package dashboard

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"weir/internal/account"
	"weir/internal/admin"
	"weir/internal/llm"
	"weir/internal/people"
	"weir/internal/report"
)

// accountHandlers serves the operator's pages of accounts.
type accountHandlers struct {
	site         *site
	admin        *admin.Admin
	installation *Installation
	once         *once
}

// allAccountsPage lists all accounts.
type allAccountsPage struct {
	Hooks    []hookNotice // of the installation
	Unseen   unseenView
	Tiles    []Tile
	Filters  Filters
	Heads    []tableHead
	Month    string // in words
	Accounts []accountRow
	Shown    string // set if there are more than are shown
	Sought   bool   // whether a search is active
	New      Field
	Problems []Problem
}

// accountRow shows an account in the list.
type accountRow struct {
	Name, Path, Manage string
	Badge              Badge
	Spend, Budget      string
	Level              *Level // of the budget; nil for past months
	AtMost             string // empty if the spend is known
	Purchase           string // purchase cost; empty without a price list
	Requests, Errors   int64
	Unpriced           bool
	Used               *time.Time // nil for never
}

const accountsPath = "/operator/accounts"

// managePath returns the path of an account's settings.
func managePath(name string) string {
	return accountsPath + strings.TrimPrefix(accountPath(name), "/accounts")
}

func (h *accountHandlers) create(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	a, err := h.admin.Accounts.CreateAccount(r.Context(), v.By, strings.TrimSpace(r.PostFormValue("name")))
	to := managePath(a.Name) + "?done=account-created"
	return sent(r).followed(w, r, v, to, err, h.list)
}

func (h *accountHandlers) list(w http.ResponseWriter, r *http.Request, v *people.Visit, f *form) error {
	all, err := h.admin.Accounts.Accounts(r.Context())
	if err != nil {
		return err
	}
	list, err := accountsListOf(r.URL.Query(), h.site.now())
	if err != nil {
		return err
	}
	sums, err := h.admin.Reports.AccountsOverview(r.Context(), list.number)
	if err != nil {
		return err
	}
	now, days := h.site.now().UTC(), h.installation.UnseenDays()
	unseen, err := h.admin.Reports.Unseen(r.Context(),
		now.AddDate(0, 0, 1-days).Format(time.DateOnly), now.Format(time.DateOnly))
	if err != nil {
		return err
	}
	p := allAccountsPageOf(all, sums, list, f)
	if list.isCurrent {
		if err := h.addLevels(r.Context(), all, &p); err != nil {
			return err
		}
	}
	p.Unseen = unseenViewOf(all, unseen, days)
	if p.Hooks, err = hookNotices(r.Context(), h.admin.Webhooks, v, now); err != nil {
		return err
	}
	return h.site.show(w, r, v, page{name: "operator-accounts", title: "Accounts", status: f.status(), data: p})
}

// addLevels adds how much of each shown account's budget is used.
func (h *accountHandlers) addLevels(ctx context.Context, all []account.Account, p *allAccountsPage) error {
	byName := make(map[string]*account.Account, len(all))
	for i := range all {
		byName[all[i].Name] = &all[i]
	}
	for i := range p.Accounts {
		row := &p.Accounts[i]
		a := byName[row.Name]
		if a.Budget.Limit <= 0 {
			continue
		}
		spent, err := h.admin.Ledger.Spent(ctx, a.ID, a.Budget.Period.Number(h.site.now()))
		if err != nil {
			return err
		}
		row.Level = new(allowanceOf("", "", spent, a.Budget.Limit).Level)
	}
	return nil
}

// allAccountsPageOf lists the accounts, by default those with the highest spend first.
func allAccountsPageOf(all []account.Account, sums []report.AccountSum, list accountsList, f *form) allAccountsPage {
	byID := make(map[string]*account.Account, len(all))
	for i := range all {
		byID[all[i].ID] = &all[i]
	}
	when := "in " + list.month
	if list.isCurrent {
		when = "this month"
	}
	p := allAccountsPage{
		Sought: list.sought != "", Tiles: accountTiles(all, sums, when), Heads: list.heads(), Month: when,
	}
	found, names := int64(0), namesOf(all)
	sums = slices.Clone(sums)
	slices.SortStableFunc(sums, func(a, b report.AccountSum) int { return list.compare(&a, &b, names) })
	for i := range sums {
		a := byID[sums[i].Account]
		if a == nil || !matches(list.sought, a.Name, a.ID) {
			continue
		}
		if found++; found <= most {
			p.Accounts = append(p.Accounts, accountRowOf(a, &sums[i]))
		}
	}
	p.Shown = shownOf(found, most, "accounts. Search for others, or sort by a head.")
	p.Filters = list.filters()
	p.New = f.field(Field{
		Name: "name", Label: "Name", Hint: "Letters, digits, dash, underscore and dot.",
		Required: true, Max: 64, Complete: "off",
	})
	p.Problems = f.problems()
	return p
}

// mostUnseen bounds the named accounts with such attempts.
const mostUnseen = 5

// unseenView shows the attempts of all accounts with an unknown end.
type unseenView struct {
	Attempts  int64
	Days      int
	Uncertain llm.Money
	Accounts  []Link // links to their requests
	More      string // number of accounts that are not named; empty for none
	Command   Code
}

func unseenViewOf(all []account.Account, sums []report.UnseenSum, days int) unseenView {
	v := unseenView{Days: days, Command: Code{
		Ident: "resolve", Label: "Resolve attempts", Text: "weir ledger resolve --older 7d --at-most",
	}}
	names, more := namesOf(all), int64(0)
	for i := range sums {
		u := &sums[i]
		v.Attempts, v.Uncertain = v.Attempts+u.Attempts, v.Uncertain+u.Uncertain
		name, there := names[u.Account]
		if !there || len(v.Accounts) == mostUnseen {
			more++
			continue
		}
		q := url.Values{"ended": {string(report.EndedUnseen)}, "start_date": {u.First}}
		v.Accounts = append(v.Accounts, Link{Label: name + " (" + number(u.Attempts) + ")", Href: accountPath(name) +
			"/requests?" + q.Encode()})
	}
	if more > 0 {
		v.More = many(more, "more account")
	}
	return v
}

// namesOf returns the names of accounts, by id.
func namesOf(all []account.Account) map[string]string {
	names := make(map[string]string, len(all))
	for i := range all {
		names[all[i].ID] = all[i].Name
	}
	return names
}

// matches reports whether one of the texts contains the sought one, ignoring case.
func matches(sought string, texts ...string) bool {
	sought = strings.ToLower(sought)
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(strings.ToLower(text), sought) })
}

// shownOf describes how much of a list is shown; empty for all of it.
func shownOf(found, limit int64, of string) string {
	if found <= limit {
		return ""
	}
	return number(limit) + " of " + number(found) + " " + of
}

// searchOf returns a search field for a list.
func searchOf(path, label, field, sought string) Filters {
	f := Filters{Action: path, Label: label, Fields: []Field{{
		Name: "q", Label: field, Kind: "search", Value: sought, Max: 256,
	}}}
	if sought != "" {
		f.Reset = path
	}
	return f
}

func accountTiles(all []account.Account, sums []report.AccountSum, when string) []Tile {
	var spend, uncertain llm.Money
	var requests, errors, used, suspended, unpriced int64
	for i := range sums {
		unpriced += sums[i].Unpriced
		spend, requests, errors = spend+sums[i].Cost, requests+sums[i].Requests, errors+sums[i].Errors
		uncertain += sums[i].Uncertain
		if sums[i].Requests > 0 {
			used++
		}
	}
	for i := range all {
		if all[i].Suspended {
			suspended++
		}
	}
	note := when + ", all accounts"
	if bound := boundOf(spend, uncertain); bound > 0 {
		note = "at most " + cents(bound) + "; " + note
	}
	note = noted(unpricedNote(unpriced), note)
	return []Tile{
		{"Spend", cents(spend), note},
		{"Requests", number(requests), when},
		{"Failed attempts", number(errors), when},
		{"Accounts", number(int64(len(all))), number(used) + " used " + when + ", " + number(suspended) + " suspended"},
	}
}

func accountRowOf(a *account.Account, sum *report.AccountSum) accountRow {
	row := accountRow{
		Name: a.Name, Path: accountPath(a.Name), Manage: managePath(a.Name), Badge: accountBadge(a),
		Spend: cents(sum.Cost), Requests: sum.Requests, Errors: sum.Errors, Unpriced: sum.Unpriced > 0,
	}
	if bound := boundOf(sum.Cost, sum.Uncertain); bound > 0 {
		row.AtMost = cents(bound)
	}
	if sum.Margin != (report.Margin{}) {
		row.Purchase = cents(sum.Cost - sum.Margin.Margin)
		if sum.PurchaseUnpriced(sum.Unpriced) > 0 {
			row.Purchase += ", some unpriced"
		}
	}
	if a.Budget.Limit > 0 {
		row.Budget = budgetText(a.Budget)
	}
	if !sum.Used.IsZero() {
		row.Used = &sum.Used
	}
	return row
}

func accountBadge(a *account.Account) Badge {
	switch {
	case a.Closed != nil:
		return Badge{"off", "Closed"}
	case a.Suspended:
		return Badge{"bad", "Suspended"}
	}
	return Badge{"good", "Active"}
}

// cents formats an amount to the cent, for columns; amounts below a cent are shown as such.
func cents(m llm.Money) string {
	const cent = llm.USD / 100
	if m > 0 && m < cent {
		return "< $0.01"
	}
	rounded := (m + cent/2) / cent * cent
	if m < 0 {
		rounded = (m - cent/2) / cent * cent
	}
	return dollars(rounded)
}
