package dashboard

import (
	"crypto/rand"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/internal/account"
	"weir/internal/budget"
	"weir/internal/llm"
	"weir/internal/people"
)

// newKeyPage shows the form of a new key.
type newKeyPage struct {
	Once     string // name of this form, so that it is executed only once
	Fields   keyForm
	Back     string
	Problems []Problem
}

// keyForm holds the fields of a key.
type keyForm struct {
	Label             Field
	Permissions       Field
	Service           *Field // only for a new key, if the visitor may create service keys
	Expiry, Date      Field
	Models            Field
	Tags              []Field
	Content, Answers  Field
	Limits            []Field
	Budget            []Field
	ModelsOpen, Bound bool // whether to open the sections of rarely used fields, because they have values or mistakes
}

// keyShownPage shows a new key, only once.
type keyShownPage struct {
	Label    string
	Token    string
	Back     string
	Snippets []Code
}

func (h *keyHandlers) showNew(w http.ResponseWriter, r *http.Request, v *people.Visit, f *form) error {
	return h.site.show(w, r, v, page{
		name: "key-new", title: "Generate New Key", status: f.status(), data: newKeyPageOf(v, f),
	})
}

func newKeyPageOf(v *people.Visit, f *form) newKeyPage {
	p := newKeyPage{Once: rand.Text(), Fields: keyFormOf(v, f, nil), Back: accountPath(v.Account.Name) + "/keys"}
	p.Problems = f.problems()
	return p
}

// keyFormOf returns the fields of an existing key, or of a new one if it is nil.
func keyFormOf(v *people.Visit, f *form, k *account.Key) keyForm {
	var p keyForm
	permissions, expiries := permissionChoices(v), expiryChoices()
	if k == nil {
		k, p.Service = &account.Key{}, serviceField(v, f)
	} else {
		for i := range permissions {
			permissions[i].Chosen = slices.Contains(k.Permissions, account.Permission(permissions[i].Value))
		}
		expiries = keptExpiry(k, expiries)
	}
	p.Label = f.field(Field{
		Name: "label", Label: "Label", Hint: "What the key is for, such as “nightly report”.",
		Required: true, First: k.ID == "", Max: 100, Value: k.Label,
	})
	p.Permissions = f.field(Field{
		Name: "permissions", Label: "Permissions", Kind: "checkbox", Choices: permissions,
	})
	p.Expiry = f.field(Field{Name: "expires", Label: "Expires", Choices: expiries})
	p.Date = f.field(Field{Name: "date", Label: "Date", Kind: "date", Optional: true, Short: true})
	p.Models = f.field(Field{
		Name: "models", Label: "Names and patterns", Lines: 3,
		Hint:  "One model, alias or pattern per line, such as openai/*. Leave it empty to allow all models.",
		Value: strings.Join(k.Models, "\n"),
	})
	p.Tags = tagFields(f, &k.Tags)
	p.Content = f.field(Field{
		Name: "no_content", Label: "Content log", Choices: []Choice{
			{Value: "no", Label: "As the account's setting says", Chosen: !k.NoContent},
			{Value: contentNever, Label: "Never log the content of its requests", Chosen: k.NoContent},
		},
	})
	p.Answers = answersField(f, k)
	p.Limits = limitFields(f, "", &k.Limits)
	p.Budget = budgetFields(f, "", k.Budget)
	p.ModelsOpen = p.Models.Value != "" || p.Models.Error != ""
	for _, x := range append(p.Limits, p.Budget...) {
		p.Bound = p.Bound || x.Error != "" || x.Value != "" && x.Choices == nil
	}
	return p
}

// TagsOpen reports whether to open the section of the tags.
func (p keyForm) TagsOpen() bool {
	return slices.ContainsFunc(p.Tags, func(x Field) bool { return x.Value != "" || x.Error != "" })
}

// NoContent reports whether to open the section of the content log.
func (p keyForm) NoContent() bool { return p.Content.Choices[1].Chosen || p.Content.Error != "" }

// tagFields returns the fields of a key's tags with their values.
func tagFields(f *form, t *account.KeyTags) []Field {
	lines := make([]string, len(t.Defaults))
	for i := range t.Defaults {
		lines[i] = t.Defaults[i].Name + "=" + t.Defaults[i].Value
	}
	return []Field{
		f.field(Field{
			Name: "tags", Label: "Tags", Lines: 3, Value: strings.Join(lines, "\n"),
			Hint: "Of requests without a tag of that name: one NAME=VALUE per line, such as team=search.",
		}),
		f.field(Field{
			Name: "required_tags", Label: "Required tags", Lines: 3, Value: strings.Join(t.Required, "\n"),
			Hint: "Names of tags that every request must have, one per line.",
		}),
	}
}

// tagsOf reads the tags of a key; a form without these fields leaves them as they are.
func tagsOf(f *form, t account.KeyTags) account.KeyTags {
	if f.values.Has("tags") {
		t.Defaults = nil
		for line := range strings.Lines(f.values.Get("tags")) {
			if line = strings.TrimSpace(line); line == "" {
				continue
			}
			name, value, ok := strings.Cut(line, "=")
			if !ok {
				f.mistake("tags", "A line is not NAME=VALUE. Write a tag such as team=search on each line.")
			}
			t.Defaults = append(t.Defaults, llm.Tag{Name: strings.TrimSpace(name), Value: strings.TrimSpace(value)})
		}
	}
	if f.values.Has("required_tags") {
		t.Required = strings.Fields(f.values.Get("required_tags"))
	}
	return t
}

// contentNever is the choice that leaves a key's requests out of the content log.
const contentNever = "yes"

// noContentOf reads whether the key's requests are left out of the content log; a form without this field leaves it as
// it is.
func noContentOf(f *form, now bool) bool {
	if !f.values.Has("no_content") {
		return now
	}
	return f.values.Get("no_content") == contentNever
}

// serviceField returns the choice of a service key; nil if the visitor may not create service keys.
func serviceField(v *people.Visit, f *form) *Field {
	if v.May(people.Manage, v.Account.ID) != nil {
		return nil
	}
	field := f.field(Field{
		Name: "service", Label: "Owner of the key", Kind: "checkbox", Optional: true, Choices: []Choice{{
			Value: "yes", Label: "Service key", Note: "It belongs to a program, not to a person",
		}},
	})
	return &field
}

func expiryChoices() []Choice {
	return []Choice{
		{Value: "never", Label: "Never", Chosen: true},
		{Value: "30d", Label: "In 30 days"},
		{Value: "90d", Label: "In 90 days"},
		{Value: "1y", Label: "In a year"},
		{Value: "date", Label: "On the given date"},
	}
}

// keepExpiry leaves the expiry of a key unchanged.
const keepExpiry = "keep"

// keptExpiry adds the present expiry of a key as the first choice.
func keptExpiry(k *account.Key, choices []Choice) []Choice {
	if k.Expires == nil {
		return choices
	}
	choices[0].Chosen = false
	return append([]Choice{{Value: keepExpiry, Label: "On " + day(*k.Expires) + ", as now", Chosen: true}}, choices...)
}

// permissionChoices returns the permissions that the visitor may give to a key. Only operators may create keys that
// administer the installation.
func permissionChoices(v *people.Visit) []Choice {
	all := []Choice{
		{Value: string(account.Chat), Label: "Chat", Note: "Send messages to models", Chosen: true},
		{Value: string(account.Uses), Label: "Uses", Note: "Read the usage of the account", Chosen: true},
		{Value: string(account.Tools), Label: "Tools", Note: "List and call the tools of MCP servers"},
	}
	if v.Operator() {
		all = append(all, Choice{
			Value: string(account.Admin), Label: "Admin", Note: "Administer the whole installation through /admin/v1",
		})
	}
	return all
}

// limitNames lists the limits with their names in forms.
var limitNames = []struct {
	name, label string
	of          func(*account.Limits) *int64
}{
	{"rpm", "Requests per minute", func(l *account.Limits) *int64 { return &l.RPM }},
	{"tpm", "Tokens per minute", func(l *account.Limits) *int64 { return &l.TPM }},
	{"concurrency", "Concurrent requests", func(l *account.Limits) *int64 { return &l.Concurrency }},
}

// limitFields returns the fields of limits with their values. The names of the fields have the prefix.
func limitFields(f *form, prefix string, l *account.Limits) (all []Field) {
	for _, limit := range limitNames {
		all = append(all, f.field(Field{
			Name: prefix + limit.name, Label: limit.label, Mode: "numeric", Example: "no limit", Short: true, Max: 19,
			Value: wholeText(*limit.of(l)),
		}))
	}
	return all
}

func (h *keyHandlers) create(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	f := sent(r)
	o := keyOptionsOf(f, permissionChoices(v), h.site.now())
	o.Tags, o.NoContent = tagsOf(f, account.KeyTags{}), noContentOf(f, false)
	o.AnswerCache = answersOf(f, 0)
	o.Account, o.Creator = v.Account.ID, v.User().ID
	o.Bounded = !v.Operator()
	if f.values.Get("service") != "" {
		o.Creator = ""
		if err := v.MayMakeServiceKey(o.Account, o.Permissions); err != nil {
			return f.refused(w, r, v, err, h.showNew)
		}
	}
	if f.bad() {
		return h.showNew(w, r, v, f)
	}
	name := onceName(v, r.PostForm)
	if !h.once.first(name, h.site.now()) {
		return goTo(w, r, accountPath(v.Account.Name)+"/keys?done=key-made")
	}
	k, token, err := h.admin.Accounts.CreateKey(r.Context(), v.By, o)
	if err != nil {
		h.once.forget(name)
		return f.refused(w, r, v, err, h.showNew)
	}
	p := keyShownPage{Label: k.Label, Token: token.Reveal(), Back: accountPath(v.Account.Name) + "/keys"}
	p.Snippets = snippetsOf(h.publicURL(r), p.Token, modelFor(&k, h.exampleModel()))
	return h.site.show(w, r, v, page{name: "key-shown", title: "Your new key", data: p})
}

// onceName returns the name of a sent form, or "" if it has no valid name.
func onceName(v *people.Visit, values url.Values) string {
	name := values.Get("once")
	if name == "" || len(name) > 64 {
		return ""
	}
	return v.User().ID + " " + name
}

// keyOptionsOf reads the form. It adds unreadable values as mistakes; package account checks the meaning of the
// values. A key only gets allowed permissions.
func keyOptionsOf(f *form, allowed []Choice, now time.Time) account.KeyOptions {
	o := account.KeyOptions{Label: strings.TrimSpace(f.values.Get("label"))}
	for _, p := range f.values["permissions"] {
		if !slices.ContainsFunc(allowed, func(c Choice) bool { return c.Value == p }) {
			f.mistake("permissions", "A permission is not in the list. Choose permissions from the list.")
		}
		o.Permissions = append(o.Permissions, account.Permission(p))
	}
	if len(o.Permissions) == 0 {
		f.mistake("permissions", "No permission is chosen. Choose at least one.")
	}
	o.Models = strings.Fields(strings.ReplaceAll(f.values.Get("models"), ",", " "))
	o.ExpiresIn = expiryOf(f, now)
	for _, l := range limitNames {
		*l.of(&o.Limits) = wholeOf(f, l.name)
	}
	o.Budget = budgetOf(f, "")
	return o
}

const badLimit = "The limit is not a whole number. Enter one such as 600, or leave it empty for no limit."

// wholeOf parses an optional whole number, with or without separators of thousands.
func wholeOf(f *form, name string) int64 {
	text := strings.NewReplacer(",", "", " ", "", "_", "").Replace(f.values.Get(name))
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		f.mistake(name, badLimit)
		return 0
	}
	return n
}

func budgetOf(f *form, prefix string) account.Budget {
	text := strings.TrimSpace(f.values.Get(prefix + "budget"))
	if text == "" {
		return account.Budget{}
	}
	limit, ok := amountOf(text)
	if !ok || limit <= 0 {
		f.mistake(prefix+"budget", "The budget is not an amount of US dollars above 0. Enter one such as 25 or "+
			"0.50, or "+
			"leave it empty for no budget.")
		return account.Budget{}
	}
	return account.Budget{Limit: limit, Period: budget.Period(f.values.Get(prefix + "period"))}
}

// expiryOf returns the time until a key expires; 0 for never. A date includes its whole day, in UTC.
func expiryOf(f *form, now time.Time) time.Duration {
	switch choice := f.values.Get("expires"); choice {
	case "", "never", keepExpiry:
		return 0
	case "30d":
		return 30 * oneDay
	case "90d":
		return 90 * oneDay
	case "1y":
		return 365 * oneDay
	case "date":
		date, err := time.Parse(time.DateOnly, f.values.Get("date"))
		end := date.Add(oneDay)
		if err != nil || !end.After(now) || end.Year() > now.Year()+99 {
			f.mistake("date", "The date is missing, in the past or too far ahead. Enter one such as "+
				now.AddDate(0, 1, 0).UTC().Format(time.DateOnly)+".")
			return 0
		}
		return end.Sub(now)
	}
	f.mistake("expires", "The expiry is not in the list. Choose one from the list.")
	return 0
}
