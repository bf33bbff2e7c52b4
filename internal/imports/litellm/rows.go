package litellm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"weir/internal/account"
	"weir/internal/imports"
	"weir/internal/llm"
)

// These are the tables that are read.
const (
	tableKeys    = "LiteLLM_VerificationToken"
	tableTeams   = "LiteLLM_TeamTable"
	tableUsers   = "LiteLLM_UserTable"
	tableBudgets = "LiteLLM_BudgetTable"
	tableModels  = "LiteLLM_ProxyModelTable"
	tableMembers = "LiteLLM_TeamMembership"
)

// tablesLeft returns the tables that are not imported, with the reasons.
func tablesLeft() [][2]string {
	return [][2]string{
		{"LiteLLM_OrganizationTable", "organizations do not exist here: their budgets and models are not " +
			"imported"},
		{"LiteLLM_ProjectTable", "projects do not exist here: their budgets are not " +
			"imported"},
		{"LiteLLM_EndUserTable", "budgets and blocks of end users are not imported"},
		{"LiteLLM_TagTable", "budgets of tags are not imported"},
		{"LiteLLM_AgentsTable", "agents are not imported"},
		{"LiteLLM_MCPServerTable", "MCP servers are not imported"},
		{"LiteLLM_CredentialsTable", "its values are encrypted with LiteLLM's own key: set the keys of providers in " +
			"the configuration"},
		{"LiteLLM_DeprecatedVerificationToken", "rotated keys that are still valid in LiteLLM are not " +
			"imported"},
		{"LiteLLM_SpendLogs", "past requests are not usage of this gateway: keep LiteLLM's database for them"},
	}
}

// bounds holds the columns that keys, teams and users share.
type bounds struct {
	Spend        dollars  `json:"spend"`
	MaxBudget    dollars  `json:"max_budget"`
	Duration     string   `json:"budget_duration"`
	ResetAt      stamp    `json:"budget_reset_at"`
	RPM          *int64   `json:"rpm_limit"`
	TPM          *int64   `json:"tpm_limit"`
	Parallel     *int64   `json:"max_parallel_requests"`
	SoftBudget   dollars  `json:"soft_budget"`
	ModelBudget  object   `json:"model_max_budget"`
	BudgetLimits anyJSON  `json:"budget_limits"`
	Organization string   `json:"organization_id"`
	Permission   string   `json:"object_permission_id"`
	Router       object   `json:"router_settings"`
	AccessGroups []string `json:"access_group_ids"`
	Policies     []string `json:"policies"`
}

type keyRow struct {
	bounds
	Token     string   `json:"token"`
	Name      string   `json:"key_name"`
	Alias     string   `json:"key_alias"`
	User      string   `json:"user_id"`
	Team      string   `json:"team_id"`
	Budget    string   `json:"budget_id"`
	Project   string   `json:"project_id"`
	Agent     string   `json:"agent_id"`
	Expires   stamp    `json:"expires"`
	Models    []string `json:"models"`
	Routes    []string `json:"allowed_routes"`
	Aliases   object   `json:"aliases"`
	Config    object   `json:"config"`
	Granted   object   `json:"permissions"`
	Metadata  object   `json:"metadata"`
	Blocked   bool     `json:"blocked"`
	AutoRenew bool     `json:"auto_rotate"`
}

type teamRow struct {
	bounds
	ID       string   `json:"team_id"`
	Alias    string   `json:"team_alias"`
	Models   []string `json:"models"`
	Members  anyJSON  `json:"members_with_roles"`
	ModelID  *int64   `json:"model_id"`
	Metadata object   `json:"metadata"`
	Blocked  bool     `json:"blocked"`
}

type userRow struct {
	bounds
	ID     string   `json:"user_id"`
	Alias  string   `json:"user_alias"`
	Email  string   `json:"user_email"`
	Role   string   `json:"user_role"`
	Models []string `json:"models"`
}

type budgetRow struct {
	bounds
	ID string `json:"budget_id"`
}

type modelRow struct {
	ID   string `json:"model_id"`
	Name string `json:"model_name"`
}

type memberRow struct {
	User   string `json:"user_id"`
	Team   string `json:"team_id"`
	Budget string `json:"budget_id"`
}

// database holds the rows of LiteLLM's database that are read.
type database struct {
	keys    []keyRow
	teams   []teamRow
	users   []userRow
	budgets []budgetRow
	models  []modelRow
	members []memberRow
}

func readDatabase(ctx context.Context, rows imports.Rows) (*database, error) {
	d := &database{}
	if err := read(ctx, rows, tableKeys, &d.keys); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("the database has no table %s: is it the one that LiteLLM uses?", tableKeys)
		}
		return nil, err
	}
	for _, err := range []error{
		read(ctx, rows, tableTeams, &d.teams), read(ctx, rows, tableUsers, &d.users),
		read(ctx, rows, tableBudgets, &d.budgets), read(ctx, rows, tableModels, &d.models),
		read(ctx, rows, tableMembers, &d.members),
	} {
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return d, nil
}

// read reads the rows of a table.
func read[T any](ctx context.Context, rows imports.Rows, table string, into *[]T) error {
	return rows(ctx, table, func(row []byte) error {
		var one T
		if err := json.Unmarshal(row, &one); err != nil {
			return fmt.Errorf("read %s, row %d: %w", table, len(*into)+1, err)
		}
		*into = append(*into, one)
		return nil
	})
}

// object is an optional JSON object column.
type object map[string]any

// UnmarshalJSON reads an object; any other value is treated as unset.
func (o *object) UnmarshalJSON(text []byte) error {
	var m map[string]any
	if json.Unmarshal(text, &m) == nil {
		*o = m
	}
	return nil
}

// anyJSON is a JSON column of any form.
type anyJSON json.RawMessage

// UnmarshalJSON stores the text.
func (a *anyJSON) UnmarshalJSON(text []byte) error {
	*a = append((*a)[:0], text...)
	return nil
}

// empty reports whether the column has no content.
func (a anyJSON) empty() bool {
	switch strings.TrimSpace(string(a)) {
	case "", "null", "{}", "[]":
		return true
	}
	return false
}

// dollars is an optional column of US dollars, a double there.
type dollars struct {
	llm.Money
	set bool
}

// UnmarshalJSON reads a number, to the nearest nano-dollar. An infinite value means no bound and is treated as unset;
// values above account.MaxAmount are reduced to it.
func (d *dollars) UnmarshalJSON(text []byte) error {
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil { // null, or "Infinity"
		return nil //nolint:nilerr // treated as unset
	}
	limit := float64(account.MaxAmount / llm.USD)
	if f >= limit {
		*d = dollars{account.MaxAmount, true}
		return nil
	}
	amount, err := llm.ParseMoney(strconv.FormatFloat(max(f, 0), 'f', 9, 64))
	*d = dollars{amount, err == nil}
	return err
}

// stamp is a timestamp column; zero if unset.
type stamp struct{ time.Time }

// UnmarshalJSON reads a time in PostgreSQL's JSON form. A time without a zone is UTC, because Prisma stores UTC.
func (s *stamp) UnmarshalJSON(text []byte) error {
	value := strings.Trim(string(text), `"`)
	for _, layout := range []string{"2006-01-02T15:04:05", time.RFC3339} {
		if at, err := time.Parse(layout, value); err == nil {
			s.Time = at.UTC()
			break
		}
	}
	return nil
}
