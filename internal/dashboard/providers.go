package dashboard

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/internal/account"
	"weir/internal/people"
	"weir/internal/route"
)

// providerHandlers answer the page of providers.
type providerHandlers struct {
	site         *site
	accounts     *account.Service
	installation *Installation
	defaultModel func() string
}

// providersPage is how the providers fare.
type providersPage struct {
	Providers []providerPart
	TryAt     string // path of the playground where models are tried; empty for nowhere
	TryIn     string // account of that
}

// providerPart is one of them.
type providerPart struct {
	Ident   string
	Name    string
	Badge   Badge
	Dialect string
	BaseURL string
	Keys    []providerKey
	Targets []targetRow
	More    int64 // targets that are not shown, none of which fares worse
	Try     Field
}

// providerKey is how a credential of a provider fares.
type providerKey struct {
	Fingerprint string
	Until       string // when its rest ends; empty while it does not rest
}

// targetRow is how a model of a provider fares.
type targetRow struct {
	Name      string
	Badge     Badge
	Until     string // when it is tried again; empty for at once
	Failures  int64  // in a row
	Latency   string
	LastError string
	LastAt    *time.Time
}

// mostTargets is how many models of a provider are shown; fewer where there are
// many providers.
const mostTargets = 20

func (h *providerHandlers) show(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	p := providersPageOf(h.installation.Providers(), h.trialModels())
	if h.site.has["GET /accounts/{account}/playground"] {
		name, err := h.trialAccount(r, v)
		if err != nil {
			return err
		}
		if name != "" {
			p.TryAt, p.TryIn = accountPath(name)+"/playground", name
		}
	}
	return h.site.show(w, r, v, page{name: "providers", title: "Providers", data: p})
}

// trialAccount is the account in which the visitor tries a model: the first of
// their own, else the first one there is; empty for none.
func (h *providerHandlers) trialAccount(r *http.Request, v *people.Visit) (string, error) {
	for _, m := range v.Memberships() {
		if v.May(people.Use, m.AccountID) == nil {
			return m.AccountName, nil
		}
	}
	all, err := h.accounts.Accounts(r.Context())
	if err != nil || len(all) == 0 {
		return "", err
	}
	if slices.ContainsFunc(all, func(a account.Account) bool { return a.Name == account.DefaultName }) {
		return account.DefaultName, nil
	}
	return all[0].Name, nil
}

// trialModels is a model to try of each provider: the default one, or the first
// that is priced and not about to end.
func (h *providerHandlers) trialModels() map[string]string {
	all := map[string]string{}
	for _, m := range h.installation.Models() {
		if m.Provider != "" && all[m.Provider] == "" && m.Price.Known() && !m.Deprecated {
			all[m.Provider] = m.Name
		}
	}
	usual := h.defaultModel()
	if provider, _, ok := strings.Cut(usual, "/"); ok {
		all[provider] = usual
	}
	return all
}

func providersPageOf(all []route.ProviderCondition, try map[string]string) providersPage {
	var p providersPage
	room := min(mostTargets, max(1, most/max(1, len(all))))
	for i := range all {
		p.Providers = append(p.Providers, providerPartOf(i, &all[i], try[all[i].Name], room))
	}
	return p
}

func providerPartOf(i int, c *route.ProviderCondition, try string, room int) providerPart {
	p := providerPart{
		Ident: "p-" + strconv.Itoa(i), Name: c.Name, Badge: stateBadge(c.State), Dialect: c.Dialect, BaseURL: c.BaseURL,
	}
	for _, k := range c.Credentials {
		p.Keys = append(p.Keys, providerKey{k.Fingerprint, secondOf(k.Until)})
	}
	targets := slices.Clone(c.Targets)
	slices.SortStableFunc(targets, func(a, b route.Condition) int { return b.State.Compare(a.State) })
	for j := range targets {
		if t := &targets[j]; t.State == route.StateOK {
			try = t.Target
			break
		}
	}
	room = min(room, len(targets))
	p.More = int64(len(targets) - room)
	for j := range targets[:room] {
		p.Targets = append(p.Targets, targetRowOf(&targets[j]))
	}
	p.Try = Field{
		Name: "model", ID: p.Ident + "-try", Label: "Model to try", Kind: "text", Value: try,
		Example: c.Name + "/…", Required: true, Max: 256, Complete: "off",
	}
	return p
}

// secondOf is a moment of about now to the second; empty for none.
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

func targetRowOf(c *route.Condition) targetRow {
	row := targetRow{
		Name: c.Target, Badge: stateBadge(c.State), Until: secondOf(c.Until), Failures: int64(c.Failures),
		LastError: c.LastError, LastAt: c.LastAt,
	}
	if c.LatencyMS > 0 {
		row.Latency = number(c.LatencyMS) + " ms"
	}
	return row
}
