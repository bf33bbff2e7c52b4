package litellm

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"weir/internal/account"
	"weir/internal/imports"
	"weir/internal/llm"
)

// errEnough stops the reading of a table.
var errEnough = errors.New("litellm: enough")

func isNone(err error) bool { return errors.Is(err, errEnough) || errors.Is(err, fs.ErrNotExist) }

// examples returns the keys of LiteLLM's documentation, which an operator may have copied.
func examples() []string {
	return []string{"sk-1234", "sk-12345", "sk-my_special_key", "sk-1234567890"}
}

// key converts a row to an API key. LiteLLM stores the SHA-256 of a key in hexadecimal (hash_token in its
// litellm/proxy/_types.py, 2026-11-26), as this gateway does.
func (a *accounts) key(row *keyRow) {
	hash, err := account.ParseHash(row.Token)
	if err != nil {
		// It may be the key itself, from a version of LiteLLM without hashes, so it is not shown.
		a.plan.Leave(rowPath(tableKeys, "key_alias", cmp.Or(row.Alias, "null")), "its token is not a SHA-256: "+
			"rotate the key in LiteLLM, and import again")
		return
	}
	const shown = 12 // of its digits, because all of them would allow a search for a short key
	at := rowPath(tableKeys, "token", row.Token[:shown]+"…")
	if why := a.refused(row, hash); why != "" {
		a.plan.Leave(at, "%s", why)
		return
	}
	a.share(row)
	made := imports.Key{From: at, Hash: hash}
	made.Label, made.Last4 = imports.Label(row.Alias, row.Name, "litellm"), last4(row.Name)
	if made.Permissions = a.permissions(at, row.Routes); len(made.Permissions) == 0 {
		return
	}
	if !row.Expires.IsZero() {
		made.Expires = &row.Expires.Time
	}
	if a.limit(at, &row.bounds, &made.Limits) {
		a.plan.Leave(at, "its limit of 0 permits no request: the key is not imported")
		return
	}
	var some bool
	if made.Models, some = a.keyModels(at, row); !some {
		return
	}
	place := a.accountOf(at, row)
	if place < 0 {
		return
	}
	made.Budget, made.Opening = a.budget(at, &row.bounds)
	if err := account.CheckKey(&made.Key, a.now); err != nil {
		a.plan.Leave(at, "%s", llm.AsError(err).Message)
		return
	}
	a.leaveBounds(at, &row.bounds)
	a.leaveOfKey(at, row)
	to := &a.plan.Accounts[place]
	to.Keys = append(to.Keys, made)
}

// refused returns the reason why a key is not imported; empty if it is.
func (a *accounts) refused(row *keyRow, hash account.Hash) string {
	isExample := slices.ContainsFunc(examples(), func(e string) bool { return sha256.Sum256([]byte(e)) == hash })
	switch {
	case row.Team == dashboardTeam:
		return "it is a session of LiteLLM's admin pages"
	case hash == a.master:
		return "it is the master key: create operators' keys by weir keys create --permission admin"
	case isExample:
		return "it is an example key of LiteLLM's documentation, which is public: create another one"
	case row.Blocked:
		return "it is blocked: unblock it in LiteLLM and import again, or create another one"
	case !row.Expires.IsZero() && !row.Expires.After(a.now):
		return "it has expired"
	}
	return ""
}

// permissions converts the routes of a key to permissions. It returns none for a key that may only manage, and records
// that. The names of groups of routes are those of key types (https://docs.litellm.ai/docs/proxy/virtual_keys,
// 2026-10).
func (a *accounts) permissions(at string, routes []string) (list []account.Permission) {
	if len(routes) == 0 {
		return []account.Permission{account.Chat, account.Uses}
	}
	var others []string
	for _, route := range routes {
		switch route {
		case "llm_api_routes":
			list = append(list, account.Chat)
		case "info_routes":
			list = append(list, account.Uses)
		case "management_routes":
		default:
			others = append(others, route)
		}
	}
	switch {
	case len(others) > 0 && !slices.Contains(list, account.Chat):
		list = append(list, account.Chat)
		a.plan.Leave(at+".allowed_routes", "the key may chat at every client API: there is no permission for only %q",
			others)
	case len(list) == 0:
		a.plan.Leave(at+".allowed_routes", "it only manages: create operators' keys by weir keys create "+
			"--permission admin")
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// share adds the limits of a budget that the key shares with others.
func (a *accounts) share(row *keyRow) {
	b := a.shared[row.Budget]
	if b == nil {
		return
	}
	if !row.MaxBudget.set {
		row.MaxBudget, row.Duration, row.ResetAt = b.MaxBudget, b.Duration, b.ResetAt
	}
	row.RPM, row.TPM, row.Parallel = cmp.Or(row.RPM, b.RPM), cmp.Or(row.TPM, b.TPM), cmp.Or(row.Parallel, b.Parallel)
}

// keyModels returns the patterns of the models that a key may use, empty for all; false if it may use none, which is
// recorded.
func (a *accounts) keyModels(at string, row *keyRow) (patterns []string, some bool) {
	all, list := scope(row.Models)
	if t := a.teamOf[row.Team]; t != nil {
		teamAll, teamList := scope(t.Models)
		switch {
		case slices.Contains(row.Models, "all-team-models") || all:
			all, list = teamAll, teamList
		case !teamAll:
			list = both(list, teamList)
		}
	} else if u := a.userOf[row.User]; all && u != nil {
		all, list = scope(u.Models)
	}
	if all {
		return nil, true
	}
	patterns = a.models.of(list)
	if len(patterns) == 0 {
		a.plan.Leave(at+".models", "it may use no existing model: the key is not imported")
	}
	return patterns, len(patterns) > 0
}

// scope reports whether a list of models permits all, and otherwise returns the permitted models. Some special names
// are not models (https://docs.litellm.ai/docs/proxy/key_auth_arch, 2026-10-12).
func scope(models []string) (all bool, list []string) {
	for _, m := range models {
		switch m {
		case "*", "all-proxy-models":
			return true, nil
		case "all-team-models", "no-default-models":
		default:
			list = append(list, m)
		}
	}
	return len(models) == 0, list
}

// both returns the models that both lists permit.
func both(one, other []string) (list []string) {
	for _, m := range one {
		for _, o := range other {
			switch {
			case covers(o, m):
				list = append(list, m)
			case covers(m, o):
				list = append(list, o)
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// covers reports whether a name, which may end in an asterisk, equals or matches another one.
func covers(pattern, name string) bool {
	prefix, open := strings.CutSuffix(pattern, "*")
	return pattern == name || open && strings.HasPrefix(name, prefix)
}

// last4 returns the last characters of the key, which LiteLLM shows as "sk-...abcd".
func last4(name string) string {
	_, last, ok := strings.Cut(name, "...")
	if !ok || len(last) != 4 || strings.ContainsFunc(last, func(r rune) bool { return r > '~' || r < '!' }) {
		return "...."
	}
	return last
}

// leaveOfKey records the columns of a key without a counterpart.
func (a *accounts) leaveOfKey(at string, row *keyRow) {
	for _, left := range []struct {
		there     bool
		name, why string
	}{
		{len(row.Aliases) > 0, "aliases", "aliases of one key are not imported: here aliases apply to all accounts"},
		{len(row.Config) > 0, "config", "a key has no configuration of its own"},
		{len(row.Granted) > 0, "permissions", "they have no counterpart"},
		{len(row.Metadata) > 0, "metadata", "tags, guardrails and limits of single models are not imported"},
		{row.Project != "", "project_id", "there are no projects"},
		{row.Agent != "", "agent_id", "there are no agents"},
		{row.AutoRenew, "auto_rotate", "rotate keys by weir keys rotate"},
	} {
		if left.there {
			a.plan.Leave(at+"."+left.name, "%s", left.why)
		}
	}
}
