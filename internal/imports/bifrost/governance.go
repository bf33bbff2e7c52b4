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

// orphans is the name of the account for keys without an owner.
const orphans = "bifrost"

// governance converts customers and teams to accounts, and virtual keys to keys.
type governance struct {
	plan    *imports.Plan
	now     time.Time
	places  map[string]int // index in plan.Accounts, by "team ID" or "customer ID"
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
	n.Leave("accounts cannot be nested: the customer's limits are not imported", "customer_id")
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

// budget returns the first budget of an object, which either the object's budget_id or the budget itself refers to.
func (g *governance) budget(kind, id string, n imports.Node) (found account.Budget) {
	by := n.Text("budget_id")
	for _, b := range g.budgets {
		if b.Text("id") != by && (id == "" || b.Text(kind+"_id") != id) {
			continue
		}
		if found.Limit > 0 {
			g.plan.Leave(b.Path, "an account or a key can have one budget; this is another one of %s", n.Path)
			continue
		}
		amount, err := llm.ParseMoney(strconv.FormatFloat(b.Number("max_limit"), 'f', 9, 64))
		if err != nil || amount <= 0 {
			g.plan.Leave(b.At("max_limit"), "a budget must be more than 0: it becomes a billionth of a dollar, which "+
				"permits only free requests")
			amount = 1
		}
		duration, same := b.Text("reset_duration"), false
		// M means a month there, and m a minute.
		written := strings.NewReplacer("M", "mo", "Y", "000d").Replace(duration)
		if found.Period, same = imports.Period(written); !same && duration != "1M" {
			g.plan.Leave(b.At("reset_duration"), "budgets for %s do not exist here: it becomes $%s %s, "+
				"which never permits more",
				duration, amount, imports.Every(found.Period))
		}
		found.Limit = amount
	}
	return found
}

// limit returns the limits per minute of an object, and records others.
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
			g.plan.Leave(l.At(one.kind+"_max_limit"), "limits are per minute here: %d in %s of %s is not imported",
				most, window, n.Path)
		}
	}
	return found
}

// key converts a virtual key to an API key.
func (g *governance) key(n imports.Node) {
	value, ok := n.Secret("value")
	if active, said := n.Take("is_active").(bool); said && !active {
		g.plan.Leave(n.Path, "it is not active")
		return
	}
	if !ok {
		g.plan.Leave(n.Path, "its value is not in the file, because Bifrost generated it")
		return
	}
	made := imports.Key{From: n.Path, Hash: sha256.Sum256([]byte(value))}
	made.Label = imports.Label(n.Text("name"), n.Text("id"), orphans)
	made.Last4 = last4(value)
	made.Permissions = []account.Permission{account.Chat, account.Uses}
	if len(value) > account.MaxToken || strings.HasPrefix(value, "wk_") {
		g.plan.Leave(n.Path, "its value is not valid as a key here: it is longer than %d bytes, or begins with wk_",
			account.MaxToken)
		return
	}
	if made.Models = g.models(n); len(made.Models) == 0 {
		g.plan.Leave(n.At("provider_configs"), "it may use no model: the key is not imported")
		return
	}
	made.Budget, made.Limits = g.budget("virtual_key", n.Text("id"), n), g.limit(n)
	if err := account.CheckKey(&made.Key, g.now); err != nil {
		g.plan.Leave(n.Path, "%s", llm.AsError(err).Message)
		return
	}
	place, ok := g.place(n)
	if !ok {
		g.plan.Leave(n.Path, "its team or customer does not exist")
		return
	}
	g.plan.Accounts[place].Keys = append(g.plan.Accounts[place].Keys, made)
	n.LeaveRest("it has no counterpart")
}

// last4 returns the last characters of a token if it is long enough to show them.
func last4(token string) string {
	const shown, long = 4, 16
	if len(token) < long {
		return "...."
	}
	return token[len(token)-shown:]
}

// place returns the index of the account that owns a key.
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

// models returns the patterns of a key's permitted models.
func (g *governance) models(n imports.Node) (patterns []string) {
	for _, p := range n.List("provider_configs") {
		for _, m := range p.Texts("allowed_models") {
			patterns = append(patterns, p.Text("provider")+"/"+m)
		}
		p.Leave("here every key may use all keys of a provider", "key_ids")
		p.Leave("here routes are the same for all keys", "weight")
		p.LeaveRest("it has no counterpart")
	}
	return patterns
}
