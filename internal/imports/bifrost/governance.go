package bifrost

import (
	"cmp"
	"crypto/sha256"
	"strconv"
	"strings"
	"time"

	"weir/internal/account"
	"weir/internal/imports"
	"weir/internal/llm"
)

// orphans is the account of keys that belong to nobody.
const orphans = "bifrost"

// governance makes accounts of customers and teams, and keys of virtual keys.
type governance struct {
	plan    *imports.Plan
	now     time.Time
	places  map[string]int // in plan.Accounts, by "team ID" or "customer ID"
	budgets []imports.Node
	limits  map[string]imports.Node
}

func (g *governance) read(n imports.Node) {
	g.budgets, g.limits = n.List("budgets"), map[string]imports.Node{}
	for _, l := range n.List("rate_limits") {
		g.limits[l.Text("id")] = l
	}
	for _, kind := range []string{"customer", "team"} {
		for _, owner := range n.List(kind + "s") {
			g.account(kind, owner)
		}
	}
	for _, key := range n.List("virtual_keys") {
		g.key(key)
	}
	n.LeaveRest("it has no counterpart")
}

func (g *governance) account(kind string, n imports.Node) {
	id := n.Text("id")
	made := imports.Account{From: "bifrost " + kind + " " + id}
	made.Name = imports.AccountName(cmp.Or(n.Text("name"), id), orphans)
	made.OnDisconnect = account.DisconnectDefault
	made.Budget = g.budget(kind, id, n)
	made.Limits = g.limit(n)
	n.Leave("an account belongs to no other: what its customer may spend is not taken over", "customer_id")
	n.LeaveRest("it has no counterpart")
	g.add(n.Path, kind+" "+id, &made)
}

func (g *governance) add(at, id string, made *imports.Account) {
	if err := account.CheckAccount(&made.Account); err != nil {
		g.plan.Leave(at, "%s", llm.AsError(err).Message)
		return
	}
	g.places[id] = len(g.plan.Accounts)
	g.plan.Accounts = append(g.plan.Accounts, *made)
}

// budget is the first budget that an object has: by its own budget_id, or by the budget's naming it.
func (g *governance) budget(kind, id string, n imports.Node) (found account.Budget) {
	by := n.Text("budget_id")
	for _, b := range g.budgets {
		if b.Text("id") != by && (id == "" || b.Text(kind+"_id") != id) {
			continue
		}
		if found.Limit > 0 {
			g.plan.Leave(b.Path, "an account and a key have one budget each, and this is another one of %s", n.Path)
			continue
		}
		amount, err := llm.ParseMoney(strconv.FormatFloat(b.Number("max_limit"), 'f', 9, 64))
		if err != nil || amount <= 0 {
			g.plan.Leave(b.At("max_limit"), "a budget is more than 0: it is a billionth of a dollar, which lets through "+
				"what is free")
			amount = 1
		}
		duration, same := b.Text("reset_duration"), false
		// M is a month there, and m a minute.
		written := strings.NewReplacer("M", "mo", "Y", "000d").Replace(duration)
		if found.Period, same = imports.Period(written); !same && duration != "1M" {
			g.plan.Leave(b.At("reset_duration"), "there is no budget for %s here: it is $%s %s, which is never more",
				duration, amount, imports.Every(found.Period))
		}
		found.Limit = amount
	}
	return found
}

// limit are the limits of a minute that an object has; others are noted.
func (g *governance) limit(n imports.Node) (found account.Limits) {
	l, ok := g.limits[n.Text("rate_limit_id")]
	if !ok {
		return found
	}
	for _, one := range []struct {
		kind string
		into *int64
	}{{"request", &found.RPM}, {"token", &found.TPM}} {
		most, window := int64(l.Number(one.kind+"_max_limit")), l.Text(one.kind+"_reset_duration")
		switch {
		case most <= 0:
		case window == "1m" || window == "60s":
			*one.into = most
		default:
			g.plan.Leave(l.At(one.kind+"_max_limit"), "limits are for a minute: %d in %s is none of %s", most, window, n.Path)
		}
	}
	return found
}

// key makes an API key of a virtual key.
func (g *governance) key(n imports.Node) {
	value, ok := n.Secret("value")
	if active, said := n.Take("is_active").(bool); said && !active {
		g.plan.Leave(n.Path, "it is not active")
		return
	}
	if !ok {
		g.plan.Leave(n.Path, "its value is not in the file: Bifrost made it itself")
		return
	}
	made := imports.Key{From: n.Path, Hash: sha256.Sum256([]byte(value))}
	made.Label = imports.Label(n.Text("name"), n.Text("id"), orphans)
	made.Last4 = last4(value)
	made.Permissions = []account.Permission{account.Chat, account.Uses}
	if len(value) > account.MaxToken || strings.HasPrefix(value, "wk_") {
		g.plan.Leave(n.Path, "its value cannot be a key here: it is longer than %d bytes, or begins with wk_",
			account.MaxToken)
		return
	}
	if made.Models = g.models(n); len(made.Models) == 0 {
		g.plan.Leave(n.At("provider_configs"), "it may use no model: the key is not taken over")
		return
	}
	made.Budget, made.Limits = g.budget("virtual_key", n.Text("id"), n), g.limit(n)
	if err := account.CheckKey(&made.Key, g.now); err != nil {
		g.plan.Leave(n.Path, "%s", llm.AsError(err).Message)
		return
	}
	place, ok := g.place(n)
	if !ok {
		g.plan.Leave(n.Path, "its team or customer is not there")
		return
	}
	g.plan.Accounts[place].Keys = append(g.plan.Accounts[place].Keys, made)
	n.LeaveRest("it has no counterpart")
}

// last4 are the last characters of a token that is long enough for them to be shown.
func last4(token string) string {
	const shown, long = 4, 16
	if len(token) < long {
		return "...."
	}
	return token[len(token)-shown:]
}

// place is the place of the account that a key belongs to.
func (g *governance) place(n imports.Node) (int, bool) {
	id := "none"
	switch team, customer := n.Text("team_id"), n.Text("customer_id"); {
	case team != "":
		id = "team " + team
	case customer != "":
		id = "customer " + customer
	case !g.has(id):
		g.add(n.Path, id, &imports.Account{
			From:    "bifrost keys",
			Account: account.Account{Name: orphans, OnDisconnect: account.DisconnectDefault},
		})
	}
	place, ok := g.places[id]
	return place, ok
}

func (g *governance) has(id string) bool {
	_, ok := g.places[id]
	return ok
}

// models are the patterns of what a key may use.
func (g *governance) models(n imports.Node) (patterns []string) {
	for _, p := range n.List("provider_configs") {
		for _, m := range p.Texts("allowed_models") {
			patterns = append(patterns, p.Text("provider")+"/"+m)
		}
		p.Leave("every key may use all keys of a provider", "key_ids")
		p.Leave("routes are the same for everybody", "weight")
		p.LeaveRest("it has no counterpart")
	}
	return patterns
}
