package dashboard

import (
	"crypto/rand"
	"net/http"
	"strconv"
	"strings"
	"time"

	"weir/internal/account"
	"weir/internal/budget"
	"weir/internal/llm"
	"weir/internal/people"
	"weir/internal/plan"
)

// oneAccountPage shows an operator's settings of an account.
type oneAccountPage struct {
	Name         string
	Badge        Badge
	Links        []Link
	Tiles        []Tile
	Base         string // path of this page
	Suspended    bool
	Suspend      Confirm
	Closed       bool // nothing can be changed any more
	Close        Confirm
	Limits       []Field
	Budget       []Field
	HasCredit    bool
	Credit       []Field
	Once         string // name of the form of the credit, so that it is executed only once
	EndCredit    Confirm
	OnDisconnect Field
	Content      Field
	Answers      answersPart
	Facts        []Fact
	Charge       chargePart
	Per          perPart
	Problems     []Problem
	Preview      *preview // nil unless requested
}

// accountForms holds the forms of the page. All except the sent one show the account's present values.
type accountForms struct {
	limits, budget, credit, onDisconnect, charge, per, content *form

	preview *preview // nil unless requested
}

func newAccountForms() *accountForms {
	return &accountForms{
		limits: &form{}, budget: &form{}, credit: &form{}, onDisconnect: &form{}, charge: &form{}, per: &form{},
		content: &form{},
	}
}

func (f *accountForms) all() []*form {
	return []*form{f.limits, f.budget, f.credit, f.onDisconnect, f.charge, f.per, f.content}
}

// accountChange executes a form and returns it. Mistakes are in the form, or are the error.
type accountChange func(r *http.Request, v *people.Visit, f *accountForms) (*form, error)

// change executes a form, and redirects to the page with its confirmation.
func (h *accountHandlers) change(done string, do accountChange) serve {
	return func(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
		forms := newAccountForms()
		f, err := do(r, v, forms)
		if err != nil && !f.refuse(err) {
			return err
		}
		if f.bad() || forms.preview != nil {
			return h.show(w, r, v, forms)
		}
		return goTo(w, r, managePath(v.Account.Name)+"?done="+done)
	}
}

func (h *accountHandlers) suspend(r *http.Request, v *people.Visit, _ *accountForms) (*form, error) {
	_, err := h.admin.Accounts.Suspend(r.Context(), v.By, v.Account.ID)
	return &form{}, err
}

func (h *accountHandlers) resume(r *http.Request, v *people.Visit, _ *accountForms) (*form, error) {
	_, err := h.admin.Accounts.Resume(r.Context(), v.By, v.Account.ID)
	return &form{}, err
}

// close closes the account, which changes its name.
func (h *accountHandlers) close(r *http.Request, v *people.Visit, _ *accountForms) (*form, error) {
	a, err := h.admin.Accounts.Close(r.Context(), v.By, v.Account.ID)
	if err == nil {
		v.Account = &a
	}
	return &form{}, err
}

func (h *accountHandlers) setLimits(r *http.Request, v *people.Visit, f *accountForms) (*form, error) {
	f.limits = sent(r)
	var limits account.Limits
	for _, l := range limitNames {
		*l.of(&limits) = wholeOf(f.limits, l.name)
	}
	if f.limits.bad() {
		return f.limits, nil
	}
	if f.limits.values.Has("preview") {
		return f.limits, h.preview(r, v, f, plan.LimitsOf(limits))
	}
	_, err := h.admin.Accounts.SetLimits(r.Context(), v.By, v.Account.ID, limits)
	return f.limits, err
}

func (h *accountHandlers) setBudget(r *http.Request, v *people.Visit, f *accountForms) (*form, error) {
	f.budget = sent(r)
	b := budgetOf(f.budget, "")
	if f.budget.bad() {
		return f.budget, nil
	}
	if f.budget.values.Has("preview") {
		return f.budget, h.preview(r, v, f, plan.BudgetOf(b))
	}
	_, err := h.admin.Accounts.SetBudget(r.Context(), v.By, v.Account.ID, b)
	return f.budget, err
}

// preview shows what a change of the account would have done.
func (h *accountHandlers) preview(r *http.Request, v *people.Visit, f *accountForms, c plan.Change) (err error) {
	scopes := plan.Scopes{Accounts: map[string]plan.Change{v.Account.ID: c}}
	f.preview, err = previewOf(r.Context(), h.admin.Plans, plan.Ask{Scopes: scopes})
	return err
}

func (h *accountHandlers) addCredit(r *http.Request, v *people.Visit, f *accountForms) (*form, error) {
	f.credit = sent(r)
	amount, ok := amountOf(r.PostFormValue("usd"))
	if !ok || amount <= 0 {
		f.credit.mistake("usd", "The credit is not an amount of US dollars above 0. Enter one such as 20 or 0.50.")
	}
	add := h.admin.Accounts.AddCredit
	switch r.PostFormValue("way") {
	case "add":
	case "give":
		add = h.admin.Accounts.AddGoodwill
	case "take":
		amount = -amount
	default:
		f.credit.mistake("way", "The action is not in the list. Choose one from the list.")
	}
	if f.credit.bad() {
		return f.credit, nil
	}
	name := onceName(v, r.PostForm)
	if !h.once.first(name, h.site.now()) {
		return f.credit, nil
	}
	_, err := add(r.Context(), v.By, v.Account.ID, amount)
	if err != nil {
		h.once.forget(name)
	}
	return f.credit, err
}

func (h *accountHandlers) endCredit(r *http.Request, v *people.Visit, _ *accountForms) (*form, error) {
	_, err := h.admin.Accounts.EndCredit(r.Context(), v.By, v.Account.ID)
	return &form{}, err
}

func (h *accountHandlers) setOnDisconnect(r *http.Request, v *people.Visit, f *accountForms) (*form, error) {
	f.onDisconnect = sent(r)
	_, err := h.admin.Accounts.SetOnDisconnect(r.Context(), v.By, v.Account.ID,
		account.OnDisconnect(r.PostFormValue("on_hangup")))
	return f.onDisconnect, err
}

func (h *accountHandlers) setContent(r *http.Request, v *people.Visit, f *accountForms) (*form, error) {
	f.content = sent(r)
	percent := wholeOf(f.content, "percent")
	if f.content.bad() {
		return f.content, nil
	}
	_, err := h.admin.Accounts.UpdateAccount(r.Context(), v.By, v.Account.ID, account.Update{ContentPercent: &percent})
	return f.content, err
}

// amountOf parses an amount of US dollars that a person typed.
func amountOf(text string) (llm.Money, bool) {
	m, err := llm.ParseMoney(strings.TrimPrefix(strings.ReplaceAll(strings.TrimSpace(text), ",", ""), "$"))
	return m, err == nil
}

func (h *accountHandlers) page(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	return h.show(w, r, v, newAccountForms())
}

func (h *accountHandlers) show(w http.ResponseWriter, r *http.Request, v *people.Visit, f *accountForms) error {
	p := oneAccountPageOf(v.Account, f, h.site.now())
	spent, err := h.spentOf(r, v.Account)
	if err != nil {
		return err
	}
	p.Tiles = spent
	if p.Answers, err = h.answersPartOf(r.Context(), v.Account); err != nil {
		return err
	}
	status := http.StatusOK
	for _, one := range f.all() {
		status = max(status, one.status())
	}
	return h.site.show(w, r, v, page{
		name: "operator-account", title: "Manage " + v.Account.Name, status: status, data: p,
	})
}

// spentOf returns tiles with the account's spending, budget and credit.
func (h *accountHandlers) spentOf(r *http.Request, a *account.Account) ([]Tile, error) {
	now := h.site.now()
	month, err := h.admin.Ledger.Spent(r.Context(), a.ID, budget.PeriodMonth.Number(now))
	if err != nil {
		return nil, err
	}
	status, err := a.BudgetStatus(r.Context(), now, h.admin.Ledger.Spent)
	if err != nil {
		return nil, err
	}
	tiles := []Tile{{"Spend", cents(month), "this month, as budgets count it"}}
	if a.Budget.Limit > 0 {
		tiles = append(tiles, Tile{"Budget left", cents(a.Budget.Limit - status.Spent), "of " + budgetText(a.Budget)})
	}
	if a.Credit != nil {
		tiles = append(tiles, Tile{"Credit left", cents(status.CreditLeft), "of " + dollars(a.Credit.Paid)})
	}
	return tiles, nil
}

func oneAccountPageOf(a *account.Account, f *accountForms, now time.Time) oneAccountPage {
	base, path := managePath(a.Name), accountPath(a.Name)
	p := oneAccountPage{
		Name: a.Name, Badge: accountBadge(a), Base: base, Suspended: a.Suspended, Closed: a.Closed != nil,
		HasCredit: a.Credit != nil,
		Once:      rand.Text(),
		Links: []Link{
			{Label: "Overview", Href: path},
			{Label: "API Keys", Href: path + "/keys"},
			{Label: "Members", Href: path + "/members"},
		},
		Facts: append([]Fact{{"Id", a.ID}, {"Since", day(a.Created)}}, perFacts(a.Per)...),
		Suspend: Confirm{
			Ident: "suspend", Button: "Suspend", Object: a.Name, Title: "Suspend " + a.Name + "?", Keep: "Leave it",
			Text:   "Its keys are refused within a second, until you resume the account. Running requests continue.",
			Action: base + "/suspend", Verb: "Suspend the account",
		},
		Close: Confirm{
			Ident: "close", Button: "Close for good", Object: a.Name, Title: "Close " + a.Name + " for " +
				"good?", Keep: "Keep it",
			Text: "Its keys are revoked, and its members, webhooks and names are deleted. Its usage and its " +
				"statements " +
				"remain. This cannot be undone.",
			Action: base + "/close", Verb: "Close the account",
		},
		EndCredit: Confirm{
			Ident: "end-credit", Button: "End credit", Object: "of " + a.Name, Title: "End the credit of " + a.Name +
				"?",
			Text:   "The account then spends without prepayment. Its remaining credit is lost.",
			Action: base + "/credit/end", Verb: "End the credit",
		},
	}
	p.Limits = limitFields(f.limits, "", &a.Limits)
	p.Budget = budgetFields(f.budget, "", a.Budget)
	p.Credit = []Field{
		f.credit.field(Field{Name: "usd", Label: "US dollars", Mode: "decimal", Example: "20", Short: true, Max: 24}),
		f.credit.field(Field{
			Name: "way", Label: "What to do",
			Choices: []Choice{
				{Value: "add", Label: "Add to the credit", Chosen: true},
				{Value: "give", Label: "Give as goodwill"},
				{Value: "take", Label: "Remove credit"},
			},
		}),
	}
	p.Preview = f.preview
	p.OnDisconnect, p.Charge = disconnectField(f.onDisconnect, a), chargePartOf(f.charge, a, now)
	p.Per = perPartOf(f.per, a)
	p.Content = f.content.field(Field{
		Name: "percent", Label: "Requests, in percent", Mode: "numeric", Short: true, Max: 3,
		Value: strconv.FormatInt(a.ContentPercent, 10), Example: "0",
	})
	for _, one := range f.all() {
		p.Problems = append(p.Problems, one.problems()...)
	}
	return p
}

// disconnectField returns the choice of what happens to answers after their client disconnects.
func disconnectField(f *form, a *account.Account) Field {
	return f.field(Field{
		Name: "on_hangup", Label: "When a client disconnects before the end of an answer",
		Kind: "radio", Choices: []Choice{
			{
				Value: string(account.DisconnectDefault), Label: "Default",
				Note: "Whole answers are read to the end. Streams are cancelled, unless the provider charges for " +
					"them in full", Chosen: a.OnDisconnect == account.DisconnectDefault,
			},
			{
				Value: string(account.DisconnectCancel), Label: "Cancel",
				Note:   "The request to the provider is cancelled. Budgets count the upper bound of its cost",
				Chosen: a.OnDisconnect == account.DisconnectCancel,
			},
			{
				Value: string(account.DisconnectDrain), Label: "Drain",
				Note:   "Every answer is read to the end, so that the provider reports its exact usage",
				Chosen: a.OnDisconnect == account.DisconnectDrain,
			},
		},
	})
}

// wholeText formats a limit for a field; empty for none.
func wholeText(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// budgetFields returns the two fields of a budget with their values.
func budgetFields(f *form, prefix string, b account.Budget) []Field {
	limit, period := "", b.Period
	if b.Limit > 0 {
		limit = b.Limit.String()
	} else {
		period = budget.PeriodMonth
	}
	choices := []Choice{
		{Value: string(budget.PeriodMonth), Label: "a month"},
		{Value: string(budget.PeriodDay), Label: "a day"},
		{Value: string(budget.PeriodTotal), Label: "in total"},
	}
	for i := range choices {
		choices[i].Chosen = choices[i].Value == string(period)
	}
	return []Field{
		f.field(Field{
			Name: prefix + "budget", Label: "Budget in US dollars", Mode: "decimal", Example: "no budget", Short: true,
			Max: 24, Value: limit,
		}),
		f.field(Field{Name: prefix + "period", Label: "Period", Choices: choices}),
	}
}
