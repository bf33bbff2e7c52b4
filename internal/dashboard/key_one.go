package dashboard

import (
	"crypto/rand"
	"net/http"
	"slices"
	"strings"
	"time"

	"weir/internal/account"
	"weir/internal/people"
)

// keyPage shows one key and the forms that change it.
type keyPage struct {
	keyRow
	Facts     []Fact
	Base      string // path of the page
	Usage     string // path of its usage; empty if there is none
	Refused   refusalNotice
	CanChange bool
	Fields    keyForm
	Once      string // name of the form that rotates it, so that it is executed only once
	Overlap   Field
	Problems  []Problem
}

func (h *keyHandlers) showOne(w http.ResponseWriter, r *http.Request, v *people.Visit, f *form) error {
	k, err := h.find(r, v)
	if err != nil {
		return err
	}
	makers, err := h.makers(r, v)
	if err != nil {
		return err
	}
	spent, err := h.spent(r.Context(), v.Account.ID)
	if err != nil {
		return err
	}
	p := keyPageOf(v, k, f, h.site.now())
	p.By, p.Spent = makers[p.By], spent[k.ID]
	p.Usage = accountPath(v.Account.Name) + "/usage?key=" + k.ID
	if p.Refused, err = refusedNotice(r.Context(), h.admin, v, k.ID, h.site.now()); err != nil {
		return err
	}
	if none := h.installation.Unmatched(k.Models); len(none) > 0 {
		p.Facts = append(p.Facts, Fact{"Patterns without a model", strings.Join(none, ", ")})
	}
	p.Facts = append(p.Facts, Fact{"Spend this month", p.Spent.String()})
	if k.Budget.Limit > 0 {
		spent, err := k.BudgetSpent(r.Context(), h.site.now(), h.admin.Ledger.Spent)
		if err != nil {
			return err
		}
		p.Facts = append(p.Facts, Fact{"Budget", dollars(spent) + " of " + budgetText(k.Budget) + " spent"})
	}
	if p.Service {
		p.Facts = append(p.Facts, Fact{"Belongs to", "no person: service key"})
	}
	if p.By != "" {
		p.Facts = append(p.Facts, Fact{"Created by", p.By})
	}
	return h.site.show(w, r, v, page{name: "key", title: k.Label, status: f.status(), data: p})
}

func keyPageOf(v *people.Visit, k *account.Key, f *form, now time.Time) keyPage {
	base := accountPath(v.Account.Name) + "/keys"
	p := keyPage{
		keyRow: keyRowOf(v, base, k, now), Base: base + "/" + k.ID, Once: rand.Text(),
		Facts: []Fact{{"ID", k.ID}, {"Key", "…" + k.Last4}, {"Created", day(k.Created)}},
	}
	if k.FormerUntil != nil && k.FormerUntil.After(now) {
		p.Facts = append(p.Facts, Fact{
			"Former key", "…" + k.FormerLast4 + ", valid until " + k.FormerUntil.UTC().Format("2 Jan 2006, "+
				"15:04") + " UTC",
		})
	}
	if k.Client != "" {
		p.Facts = append(p.Facts, Fact{"Program", k.Client}, Fact{"Valid at", k.Resource})
	}
	p.Facts = append(p.Facts, perFacts(k.Per)...)
	p.CanChange = !p.Past && v.MayChangeKey(k) == nil
	if len(k.Tags.Defaults) > 0 {
		p.Facts = append(p.Facts, Fact{"Tags", tagsText(k.Tags.Defaults)})
	}
	if len(k.Tags.Required) > 0 {
		p.Facts = append(p.Facts, Fact{"Required tags", strings.Join(k.Tags.Required, ", ")})
	}
	if k.NoContent {
		p.Facts = append(p.Facts, Fact{"Content log", "never: its requests are left out"})
	}
	if k.AnswerCache > 0 {
		p.Facts = append(p.Facts, Fact{"Stored answers", "at most " + ageText(k.AnswerCache) + " old"})
	}
	p.Fields = keyFormOf(v, f, k)
	p.Fields.ModelsOpen, p.Fields.Bound = true, true
	p.Overlap = f.field(Field{Name: "overlap", Label: "The former key stays valid for", Choices: []Choice{
		{Value: "24h", Label: "a day", Chosen: true},
		{Value: "168h", Label: "a week"},
		{Value: "720h", Label: "30 days"},
		{Value: "1h", Label: "an hour"},
		{Value: "0s", Label: "no longer"},
	}})
	p.Problems = f.problems()
	return p
}

// perFacts returns the limits and budget of each end user and each tag value.
func perFacts(list []account.Per) (facts []Fact) {
	for i := range list {
		per := &list[i]
		label := "Each end user"
		if per.Tag != "" {
			label = "Each value of the tag " + per.Tag
		}
		facts = append(facts, Fact{label, strings.Join(boundsOf(per.Limits, per.Budget), ", ")})
	}
	return facts
}

// changeable returns the key in the path, if the visitor may change it.
func (h *keyHandlers) changeable(r *http.Request, v *people.Visit) (*account.Key, error) {
	k, err := h.find(r, v)
	if err == nil {
		err = v.MayChangeKey(k)
	}
	return k, err
}

func (h *keyHandlers) change(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	k, err := h.changeable(r, v)
	if err != nil {
		return err
	}
	f := sent(r)
	o := keyOptionsOf(f, permissionChoices(v), h.site.now())
	o.Tags, o.NoContent = tagsOf(f, k.Tags), noContentOf(f, k.NoContent)
	o.AnswerCache = answersOf(f, k.AnswerCache)
	if f.bad() {
		return h.showOne(w, r, v, f)
	}
	u := updateOf(k, &o, f.values.Get("expires"), h.site.now())
	u.Tighten = v.May(people.Manage, k.AccountID) != nil
	_, err = h.admin.Accounts.UpdateKey(r.Context(), v.By, k.ID, u)
	return f.followed(w, r, v, accountPath(v.Account.Name)+"/keys/"+k.ID+"?done=key-changed", err, h.showOne)
}

// updateOf returns the form's changes of a key. Unchanged members are not written, because another request may be
// changing them.
func updateOf(k *account.Key, o *account.KeyOptions, expires string, now time.Time) account.KeyUpdate {
	var u account.KeyUpdate
	if o.Label != k.Label {
		u.Label = &o.Label
	}
	if !slices.Equal(slices.Sorted(slices.Values(o.Permissions)), slices.Sorted(slices.Values(k.Permissions))) {
		u.Permissions = &o.Permissions
	}
	if !slices.Equal(o.Models, k.Models) {
		u.Models = &o.Models
	}
	if !slices.Equal(o.Tags.Defaults, k.Tags.Defaults) {
		u.Tags = &o.Tags.Defaults
	}
	if !slices.Equal(o.Tags.Required, k.Tags.Required) {
		u.Required = &o.Tags.Required
	}
	if o.NoContent != k.NoContent {
		u.NoContent = &o.NoContent
	}
	if o.AnswerCache != k.AnswerCache {
		u.AnswerCache = &o.AnswerCache
	}
	if o.Limits != k.Limits {
		u.Limits = &o.Limits
	}
	if o.Budget != k.Budget {
		u.Budget = &o.Budget
	}
	switch {
	case expires == keepExpiry, o.ExpiresIn == 0 && k.Expires == nil:
	case o.ExpiresIn == 0:
		u.Expires = &time.Time{}
	default:
		u.Expires = new(now.Add(o.ExpiresIn))
	}
	return u
}

// rotate replaces the secret of a key, and shows the new one only once.
func (h *keyHandlers) rotate(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	k, err := h.changeable(r, v)
	if err != nil {
		return err
	}
	f := sent(r)
	overlap, err := time.ParseDuration(f.values.Get("overlap"))
	if err != nil {
		f.mistake("overlap", "The time is not in the list. Choose one from the list.")
		return h.showOne(w, r, v, f)
	}
	name := onceName(v, r.PostForm)
	if !h.once.first(name, h.site.now()) {
		return goTo(w, r, accountPath(v.Account.Name)+"/keys/"+k.ID+"?done=key-rotated")
	}
	changed, token, err := h.admin.Accounts.RotateKey(r.Context(), v.By, k.ID, overlap)
	if err != nil {
		h.once.forget(name)
		return f.refused(w, r, v, err, h.showOne)
	}
	p := keyShownPage{Label: changed.Label, Token: token.Reveal(), Back: accountPath(v.Account.Name) + "/keys"}
	p.Snippets = snippetsOf(h.publicURL(r), p.Token, modelFor(&changed, h.exampleModel()))
	return h.site.show(w, r, v, page{name: "key-shown", title: "Your new key", data: p})
}
