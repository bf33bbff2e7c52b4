package dashboard

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"weir/internal/account"
	"weir/internal/admin"
	"weir/internal/llm"
	"weir/internal/managed"
	"weir/internal/people"
	"weir/internal/route"
)

// providersPath is the path of the pages of providers.
const providersPath = "/operator/providers"

// providerHandlers serves the pages of providers.
type providerHandlers struct {
	site         *site
	admin        *admin.Admin
	installation *Installation
	defaultModel func() string
}

// providersPage shows the state of the providers.
type providersPage struct {
	Providers []providerRow
	NewPath   string
}

// providerRow shows the state of one provider.
type providerRow struct {
	Name, Href string
	Dialect    string
	Badge      Badge
	Requests   string // of the last hour
	Errors     string // share of failed requests in percent; empty for none
	FirstToken string
	Bars       []trafficBar
	Keys       string
	From       string
}

// trafficBar is a bar of five minutes in the chart of an hour, in units of its view box.
type trafficBar struct{ X, Y, Height, BadY, BadHeight int }

// barHeight is the height of the highest bar.
const barHeight = 16

// trafficBars draws an hour; the bar with the most attempts has the full height.
func trafficBars(hour *route.Traffic) (bars []trafficBar) {
	const width = 5
	highest := int64(1)
	for _, p := range hour.Parts {
		highest = max(highest, p.Attempts)
	}
	for i, p := range hour.Parts {
		height := int((p.Attempts*barHeight + highest - 1) / highest)
		bad := int((p.Failed*barHeight + highest - 1) / highest)
		bars = append(bars, trafficBar{i * width, barHeight - height, height, barHeight - bad, bad})
	}
	return bars
}

func (h *providerHandlers) list(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	s, err := h.admin.Configuration.State(r.Context())
	if err != nil {
		return err
	}
	data := providersPageOf(h.installation.Providers(), s.Objects)
	return h.site.show(w, r, v, page{name: "providers", title: "Providers", data: data})
}

func providersPageOf(all []route.ProviderCondition, objects []managed.Object) providersPage {
	p := providersPage{NewPath: providersPath + "/new"}
	for i := range all {
		p.Providers = append(p.Providers, providerRowOf(&all[i], objectOf(objects, "providers", all[i].Name)))
	}
	for i := range objects { // a provider that this node does not use yet
		o := &objects[i]
		inUse := slices.ContainsFunc(all, func(c route.ProviderCondition) bool { return c.Name == o.Name })
		if o.Section == "providers" && !inUse {
			p.Providers = append(p.Providers, providerRowOf(&route.ProviderCondition{Name: o.Name}, o))
		}
	}
	return p
}

// objectOf returns an object of the configuration; if there is none, an empty one from the environment.
func objectOf(objects []managed.Object, section, name string) *managed.Object {
	for i := range objects {
		if o := &objects[i]; o.Section == section && o.Name == name {
			return o
		}
	}
	return &managed.Object{Section: section, Name: name, Source: managed.FromEnvironment}
}

func providerRowOf(c *route.ProviderCondition, o *managed.Object) providerRow {
	row := providerRow{
		Name: c.Name, Href: providerPath(c.Name), Dialect: c.Dialect, Badge: stateBadge(c.State),
		Requests: number(c.Hour.Attempts), Bars: trafficBars(&c.Hour), Keys: number(int64(c.Keys)), From: fromOf(o),
	}
	if c.Resting > 0 {
		row.Keys += fmt.Sprintf(", %d paused", c.Resting)
	}
	if c.Hour.Attempts > 0 {
		row.Errors = fmt.Sprintf("%.1f %%", 100*float64(c.Hour.Failed)/float64(c.Hour.Attempts))
	}
	if c.Hour.FirstToken > 0 {
		row.FirstToken = took(c.Hour.FirstToken)
	}
	return row
}

func providerPath(name string) string { return providersPath + "/" + url.PathEscape(name) }

// fromOf describes where an object is configured.
func fromOf(o *managed.Object) string {
	from := map[managed.Source]string{
		managed.FromManaged: "Managed", managed.FromEnvironment: "Environment", managed.FromDefault: "Default",
		managed.FromFile: fmt.Sprintf("%s, line %d", o.File, o.Line),
	}[o.Source]
	if o.Source != managed.FromEnvironment && len(o.Variables) > 0 {
		from += ", and " + strings.Join(o.Variables, ", ")
	}
	return from
}

// trialAccount returns the account in which the visitor tries a model: the first of their own, else the default or
// first account; empty for none.
func (h *providerHandlers) trialAccount(ctx context.Context, v *people.Visit) (string, error) {
	for _, m := range v.Memberships() {
		if v.May(people.Use, m.AccountID) == nil {
			return m.AccountName, nil
		}
	}
	all, err := h.admin.Accounts.Accounts(ctx)
	if err != nil || len(all) == 0 {
		return "", err
	}
	if slices.ContainsFunc(all, func(a account.Account) bool { return a.Name == account.DefaultName }) {
		return account.DefaultName, nil
	}
	return all[0].Name, nil
}

// trialModel returns a model of a provider for trying: the default model, or the first one that has a price and is
// not deprecated.
func (h *providerHandlers) trialModel(name string) string {
	if usual := h.defaultModel(); strings.HasPrefix(usual, name+"/") {
		return usual
	}
	for _, m := range h.installation.Models() {
		if m.Provider == name && m.Price.Known() && !m.Deprecated {
			return m.Name
		}
	}
	return ""
}

// secondOf formats a recent time to the second; empty for none.
func secondOf(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format("15:04:05 UTC")
}

func stateBadge(s route.State) Badge {
	switch s {
	case route.StateOK:
		return Badge{"good", "Available"}
	case route.StateFailing:
		return Badge{"warn", "Failing"}
	case route.StateOpen:
		return Badge{"bad", "Unavailable"}
	}
	return Badge{"off", "Not used yet"}
}

// refuseObject adds an error of a change to the field of its member.
func (f *form) refuseObject(err error) bool {
	e := llm.AsError(err)
	if e.Code == llm.CodeConflict {
		f.general = append(f.general, e.Message)
		return true
	}
	path, _, _ := strings.Cut(e.Param, "[")
	told := *e
	_, rest, found := strings.Cut(told.Message, "`: ")
	if found && rest != "" && strings.HasPrefix(told.Message, "managed configuration") {
		told.Message = strings.ToUpper(rest[:1]) + rest[1:]
	}
	if address, found := strings.CutSuffix(told.Message, "; allow_private: true permits it."); found &&
		slices.Contains(f.fields, "allow_private") {
		told.Message, path = address+". “Allow a private address” below permits it.", "allow_private"
	}
	if told.Param = path[strings.LastIndexByte(path, '.')+1:]; !slices.Contains(f.fields, told.Param) {
		told.Param = ""
	}
	return f.refuse(&told)
}
