package litellm

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"weir/internal/account"
	"weir/internal/imports"
	"weir/internal/llm"
	"weir/internal/people"
)

const (
	// dashboardTeam is the team of the keys that LiteLLM's pages create for signed-in users (UI_SESSION_TOKEN_TEAM_ID
	// in its litellm/constants.py).
	dashboardTeam = "litellm-dashboard"
	// orphans is the name of the account for keys without an owner.
	orphans   = "litellm"
	zeroLimit = "a limit of 0 permits no request there but means no limit here: the account is suspended"
)

// accounts builds the accounts of a plan.
type accounts struct {
	*database
	plan    *imports.Plan
	models  modelNames
	now     time.Time
	master  account.Hash   // of LiteLLM's master key
	byTeam  map[string]int // indexes in plan.Accounts
	byUser  map[string]int
	userOf  map[string]*userRow
	teamOf  map[string]*teamRow
	shared  map[string]*budgetRow
	orphans int // index of the account of orphans; -1 for none
}

// addDatabase adds the contents of the database to a plan.
func (p *Import) addDatabase(ctx context.Context, rows imports.Rows) error {
	d, err := readDatabase(ctx, rows)
	if err != nil {
		return err
	}
	a := &accounts{
		database: d, plan: p.plan, models: p.models, now: p.Now, master: p.master,
		byTeam: map[string]int{}, byUser: map[string]int{}, userOf: map[string]*userRow{},
		teamOf: map[string]*teamRow{}, shared: map[string]*budgetRow{}, orphans: -1,
	}
	for i := range d.users {
		a.userOf[d.users[i].ID] = &d.users[i]
	}
	for i := range d.budgets {
		a.shared[d.budgets[i].ID] = &d.budgets[i]
	}
	slices.SortFunc(d.teams, func(x, y teamRow) int { return cmp.Compare(x.ID, y.ID) })
	slices.SortFunc(d.keys, func(x, y keyRow) int { return cmp.Compare(x.Token, y.Token) })
	for i := range d.teams {
		a.team(&d.teams[i])
	}
	for i := range d.keys {
		a.key(&d.keys[i])
	}
	a.operators()
	a.leaveRows()
	return leaveTables(ctx, rows, p.plan)
}

// leaveTables records the unsupported tables that have rows.
func leaveTables(ctx context.Context, rows imports.Rows, plan *imports.Plan) error {
	for _, t := range tablesLeft() {
		n := 0
		err := rows(ctx, t[0], func([]byte) error { n++; return errEnough })
		if err != nil && !isNone(err) {
			return err
		}
		if n > 0 {
			plan.Leave(t[0], "%s", t[1])
		}
	}
	return nil
}

func (a *accounts) team(t *teamRow) {
	at := rowPath(tableTeams, "team_id", t.ID)
	if t.ID == dashboardTeam {
		return
	}
	a.teamOf[t.ID] = t
	made := imports.Account{From: "litellm team " + t.ID}
	made.Name = imports.AccountName(cmp.Or(t.Alias, t.ID), orphans)
	made.Suspended = t.Blocked
	if a.limit(at, &t.bounds, &made.Limits) {
		made.Suspended = true
		a.plan.Leave(at, zeroLimit)
	}
	made.Budget, made.Opening = a.budget(at, &t.bounds)
	a.leaveBounds(at, &t.bounds)
	if t.ModelID != nil {
		a.plan.Leave(at+".model_id", "aliases of one team are not imported: here aliases apply to all accounts")
	}
	a.byTeam[t.ID] = a.add(at, &made)
	a.teamMembers(at, t, made.From)
}

// add adds an account, and returns its index; -1 if it is invalid.
func (a *accounts) add(at string, made *imports.Account) int {
	made.OnDisconnect = account.DisconnectDefault
	if err := account.CheckAccount(&made.Account); err != nil {
		a.plan.Leave(at, "%s", llm.AsError(err).Message)
		return -1
	}
	a.plan.Accounts = append(a.plan.Accounts, *made)
	return len(a.plan.Accounts) - 1
}

// teamMembers adds the members of a team as people.
func (a *accounts) teamMembers(at string, t *teamRow, from string) {
	var members []struct {
		Role  string `json:"role"`
		User  string `json:"user_id"`
		Email string `json:"user_email"`
	}
	if t.Members.empty() {
		return
	}
	at += ".members_with_roles"
	if err := json.Unmarshal(t.Members, &members); err != nil {
		a.plan.Leave(at, "the list of members cannot be read: %v", err)
		return
	}
	for i, m := range members {
		at := fmt.Sprintf("%s[%d]", at, i)
		if u := a.userOf[m.User]; u != nil {
			m.Email = cmp.Or(u.Email, m.Email)
		}
		role := people.Member
		if m.Role == "admin" {
			role = people.Owner
		}
		a.person(at, m.Email, from, role, m.User)
	}
}

func (a *accounts) person(at, email, from string, role people.Role, user string) {
	if email == "" {
		a.plan.Leave(at, "the user %q has no e-mail address, which is needed to sign in", user)
		return
	}
	a.plan.People = append(a.plan.People, imports.Person{From: at, Email: email, Account: from, Role: role})
}

// accountOf returns the index of the account that owns a key: its team's, its user's own, or that of orphans; -1 if
// there is none.
func (a *accounts) accountOf(at string, k *keyRow) int {
	if k.Team != "" {
		place, ok := a.byTeam[k.Team]
		if !ok {
			a.plan.Leave(at, "its team %q does not exist", k.Team)
			return -1
		}
		return place
	}
	if u := a.userOf[k.User]; u != nil {
		return a.userAccount(u)
	}
	if a.orphans < 0 {
		a.orphans = a.add(at, &imports.Account{From: "litellm keys", Account: account.Account{Name: orphans}})
	}
	return a.orphans
}

// userAccount returns the index of the account for a user's own keys. The user's budget and limits apply only to these
// keys (https://docs.litellm.ai/docs/proxy/users, 2026-10-10).
func (a *accounts) userAccount(u *userRow) int {
	place, ok := a.byUser[u.ID]
	if ok {
		return place
	}
	at := rowPath(tableUsers, "user_id", u.ID)
	local, _, _ := strings.Cut(u.Email, "@")
	made := imports.Account{From: "litellm user " + u.ID}
	made.Name = imports.AccountName(cmp.Or(u.Alias, local, u.ID), orphans)
	if a.limit(at, &u.bounds, &made.Limits) {
		made.Suspended = true
		a.plan.Leave(at, zeroLimit)
	}
	made.Budget, made.Opening = a.budget(at, &u.bounds)
	a.leaveBounds(at, &u.bounds)
	place = a.add(at, &made)
	a.byUser[u.ID] = place
	if place >= 0 && u.Email != "" {
		a.person(at, u.Email, made.From, people.Owner, u.ID)
	}
	return place
}

// limit reads limits, and reports whether one of them is 0.
func (a *accounts) limit(at string, b *bounds, into *account.Limits) (none bool) {
	for _, l := range []struct {
		from *int64
		into *int64
		name string
	}{
		{b.RPM, &into.RPM, "rpm_limit"},
		{b.TPM, &into.TPM, "tpm_limit"},
		{b.Parallel, &into.Concurrency, "max_parallel_requests"},
	} {
		switch {
		case l.from == nil:
		case *l.from <= 0:
			none = true
		default:
			*l.into = *l.from
		}
	}
	return none
}

// budget returns the budget of a row, and the spending of it in the current period. LiteLLM's days begin at midnight
// and its months on the first of a month (https://docs.litellm.ai/docs/proxy/budget_reset_and_tz, 2026-10-06).
func (a *accounts) budget(at string, b *bounds) (account.Budget, llm.Money) {
	if !b.MaxBudget.set {
		if b.Spend.Money > 0 {
			a.plan.Leave(at+".spend", "the spending of $%s is not imported, because there is no budget", b.Spend.Money)
		}
		return account.Budget{}, 0
	}
	limit := account.Budget{Limit: b.MaxBudget.Money}
	var same bool
	if limit.Period, same = imports.Period(b.Duration); !same {
		a.plan.Leave(at+".budget_duration", "budgets for %s do not exist here: it becomes $%s %s, "+
			"which never permits more",
			b.Duration, limit.Limit, imports.Every(limit.Period))
	}
	if limit.Limit == 0 {
		a.plan.Leave(at+".max_budget", "a budget of 0 means no budget here: it becomes a billionth of a dollar, which "+
			"permits only free requests")
		limit.Limit = 1
	}
	if b.Duration != "" && !b.ResetAt.IsZero() && !b.ResetAt.After(a.now) { // LiteLLM was about to reset it
		return limit, 0
	}
	return limit, b.Spend.Money
}

// leaveBounds records the columns of a row without a counterpart.
func (a *accounts) leaveBounds(at string, b *bounds) {
	for _, left := range []struct {
		there     bool
		name, why string
	}{
		{b.SoftBudget.set, "soft_budget", "webhook events are sent at 50, 80 and 95 % of every budget instead"},
		{len(b.ModelBudget) > 0, "model_max_budget", "there are no budgets for single models"},
		{!b.BudgetLimits.empty(), "budget_limits", "there is one budget each for an account and a key"},
		{b.Organization != "", "organization_id", "the limits of its organization are not imported"},
		{
			b.Permission != "", "object_permission_id",
			"there are no permissions for MCP servers, vector stores and agents",
		},
		{len(b.Router) > 0, "router_settings", "here routes are the same for all keys"},
		{len(b.AccessGroups) > 0, "access_group_ids", "access groups of the database are not imported: list the " +
			"models"},
		{len(b.Policies) > 0, "policies", "there are no guardrails"},
	} {
		if left.there {
			a.plan.Leave(at+"."+left.name, "%s", left.why)
		}
	}
}

// operators records LiteLLM's administrators, because an import creates no operators.
func (a *accounts) operators() {
	for i := range a.users {
		if u := &a.users[i]; strings.HasPrefix(u.Role, "proxy_admin") {
			a.plan.Leave(rowPath(tableUsers, "user_id", u.ID)+".user_role", "an import creates no operators: run "+
				"weir operators add %s", cmp.Or(u.Email, "EMAIL"))
		}
	}
}

// leaveRows records rows that are not imported.
func (a *accounts) leaveRows() {
	for _, m := range a.database.models {
		a.plan.Leave(rowPath(tableModels, "model_id", m.ID), "the model %q is not imported, because its values are "+
			"encrypted with LiteLLM's own key: add it to the imported config.yaml", m.Name)
	}
	for _, m := range a.members {
		if m.Budget != "" {
			a.plan.Leave(rowPath(tableMembers, "user_id", m.User)+".budget_id", "budgets of members of a team are not "+
				"imported: set budgets on their keys")
		}
	}
}

// rowPath returns the path of a row.
func rowPath(table, column, value string) string {
	return fmt.Sprintf("%s[%s=%s]", table, column, value)
}
