package admin_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/rogpeppe/go-internal/txtar"

	"weir/internal/account"
	"weir/internal/admin"
	"weir/internal/audit"
	"weir/internal/config"
	"weir/internal/e2e/harness"
	"weir/internal/imports"
	"weir/internal/imports/litellm"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/store/pgtest"
)

// litellmTables creates the tables of LiteLLM that an import reads, with Prisma's types of columns.
const litellmTables = `
CREATE TABLE "LiteLLM_VerificationToken" (token TEXT PRIMARY KEY, key_name TEXT, key_alias TEXT,
	spend DOUBLE PRECISION NOT NULL DEFAULT 0, expires TIMESTAMP(3), models TEXT[], aliases JSONB NOT NULL DEFAULT '{}',
	user_id TEXT, team_id TEXT, max_parallel_requests INTEGER, metadata JSONB NOT NULL DEFAULT '{}', blocked BOOLEAN,
	tpm_limit BIGINT, rpm_limit BIGINT, max_budget DOUBLE PRECISION, budget_duration TEXT, budget_reset_at TIMESTAMP(3),
	budget_id TEXT);
CREATE TABLE "LiteLLM_TeamTable" (team_id TEXT PRIMARY KEY, team_alias TEXT, members_with_roles JSONB NOT NULL DEFAULT '{}',
	max_budget DOUBLE PRECISION, spend DOUBLE PRECISION NOT NULL DEFAULT 0, models TEXT[], max_parallel_requests INTEGER,
	tpm_limit BIGINT, rpm_limit BIGINT, budget_duration TEXT, budget_reset_at TIMESTAMP(3), blocked BOOLEAN NOT NULL DEFAULT false);
CREATE TABLE "LiteLLM_UserTable" (user_id TEXT PRIMARY KEY, user_email TEXT, user_role TEXT, max_budget DOUBLE PRECISION,
	spend DOUBLE PRECISION NOT NULL DEFAULT 0, models TEXT[], budget_duration TEXT, budget_reset_at TIMESTAMP(3));
INSERT INTO "LiteLLM_TeamTable" (team_id, team_alias, members_with_roles, max_budget, spend, budget_duration, budget_reset_at, models)
	VALUES ('t1', 'Research Team', '[{"role": "admin", "user_id": "u1"}]', 100, 42.5, '30d', now() + interval '1 day', '{}');
INSERT INTO "LiteLLM_UserTable" (user_id, user_email) VALUES ('u1', 'ann@example.com');
`

// litellmKey adds a key to LiteLLM's database.
func litellmKey(token, more string) string {
	return fmt.Sprintf(`INSERT INTO "LiteLLM_VerificationToken" (token, key_name, key_alias, team_id, models, max_budget, spend) VALUES ('%x', 'sk-...%s', '%s', 't1', `+more+");\n", sha256.Sum256([]byte(token)), token[len(token)-4:], token)
}

// execute runs statements of SQL on PostgreSQL.
func execute(t *testing.T, url, statements string) {
	t.Helper()
	db := must.Get(sql.Open("pgx", url))(t)
	defer db.Close()
	must.Get(db.ExecContext(t.Context(), statements))(t)
}

// importLiteLLM imports as weir import litellm does.
func importLiteLLM(h *harness.Gateway, url, file string, o admin.ImportOptions) (done admin.Imported) {
	h.T.Helper()
	withPeople(h, func(ctx context.Context, d *admin.Admin) error {
		return admin.Foreign(ctx, llm.NewSecret(url), func(rows imports.Rows) error {
			in := &litellm.Import{
				Config: must.Get(config.ParseTree("config.yaml", []byte(file)))(h.T), Rows: rows, Now: d.Now(),
				Getenv: func(string) (string, bool) { return "", false },
			}
			plan, err := in.Plan(ctx)
			must.Do(h.T, err)
			done, err = d.Imports.Import(ctx, audit.Gateway(), plan, o)
			return err
		})
	})
	return done
}

// TestImportLiteLLM imports LiteLLM's configuration and database into a running gateway: an existing key works
// unchanged, budgets and their spending match, the ledger has only attempts of this gateway, and a second import
// changes nothing.
func TestImportLiteLLM(t *testing.T) {
	t.Parallel()
	server := pgtest.New(t)
	execute(t, server.URL("postgres"), "CREATE DATABASE weir")
	execute(t, server.URL("postgres"), "CREATE DATABASE litellm")
	// As Prisma has it, with arguments that PostgreSQL does not know.
	from := server.URL("litellm") + "&schema=public&connection_limit=5&pool_timeout=10"
	execute(t, server.URL("litellm"), litellmTables+litellmKey("sk-good-key-of-old", "'{}', 10, 4")+
		litellmKey("sk-spent-key-of-old", "'{fast}', 10, 9.9999")+litellmKey("sk-other-models-only", "'{slow}', NULL, 1"))
	for name, database := range map[string]string{"SQLite": "", "PostgreSQL": server.URL("weir")} {
		t.Run(name, func(t *testing.T) {
			up := harness.NewUpstream(t)
			h := harness.Open(t, harness.Setup{YAML: fmt.Sprintf("database: %q\nproviders: {}\n", database)})
			file := fmt.Sprintf("model_list:\n  - model_name: fast\n    litellm_params: {model: openai/echo, api_base: %q, api_key: x}\n"+
				"    model_info: {input_cost_per_token: 0.001, output_cost_per_token: 0.002}\n"+
				"  - model_name: slow\n    litellm_params: {model: openai/chat, api_base: %q}\n", up.URL+"/v1", up.URL+"/v1")
			(&importedGateway{h: h, from: from, file: file}).check(t)
			must.Do(t, h.Stop())
			h.Verify(t)
		})
	}
}

// importedGateway is a gateway with its imported objects.
type importedGateway struct {
	h          *harness.Gateway
	from, file string
}

func (g *importedGateway) check(t *testing.T) {
	h, none := g.h, admin.ImportOptions{DryRun: true}
	good, ask := "sk-good-key-of-old", func(key, model string) harness.Reply {
		body := `{"model":"` + model + `","max_tokens":50,"messages":[{"role":"user","content":"one two three"}]}`
		return h.Do(harness.Ask{Path: "/v1/chat/completions", Body: body, Key: key})
	}
	dry := importLiteLLM(h, g.from, g.file, none)
	if r := ask(good, "fast"); r.Status != http.StatusUnauthorized {
		t.Errorf("before the import: got %d, want 401", r.Status)
	}
	done := importLiteLLM(h, g.from, g.file, admin.ImportOptions{Invite: true})
	if len(dry.Config) != len(done.Config) || len(dry.Changes) != len(done.Changes) || len(done.Config) != 4 || len(done.Changes) != 7 {
		t.Errorf("dry run %+v, then %+v; want the same four objects and seven changes", dry, done)
	}
	if len(done.Invitations) != 1 || !strings.Contains(done.Invitations[0].Link, "/invite/") {
		t.Errorf("invitations: got %+v, want one with a link", done.Invitations)
	}
	harness.Await(t, "the key works", func() bool { return ask(good, "fast").Status == http.StatusOK })
	g.everywhere(t, good)
	for _, refused := range []struct {
		key, model string
		status     int
	}{
		{"sk-spent-key-of-old", "fast", http.StatusTooManyRequests},
		{"sk-other-models-only", "fast", http.StatusForbidden},
		{"sk-good-key-of-olD", "fast", http.StatusUnauthorized},
	} {
		if r := ask(refused.key, refused.model); r.Status != refused.status {
			t.Errorf("%s: got %d %s, want %d", refused.key, r.Status, r.Body, refused.status)
		}
	}
	again := importLiteLLM(h, g.from, g.file, admin.ImportOptions{Invite: true})
	if len(again.Config)+len(again.Changes)+len(again.Invitations) != 0 {
		t.Errorf("a second import: got %+v, want no change", again)
	}
	g.spend(t, good)
}

// everywhere sends requests with the key to the client APIs of all vendors, as their clients do.
func (g *importedGateway) everywhere(t *testing.T, key string) {
	for _, a := range []harness.Ask{
		{Path: "/v1/messages", Body: `{"model":"fast","max_tokens":50,"messages":[{"role":"user","content":"Hi"}]}`, Header: []string{"x-api-key", key}},
		{Path: "/v1beta/models/fast:generateContent", Body: `{"contents":[{"role":"user","parts":[{"text":"Hi"}]}]}`, Header: []string{"x-goog-api-key", key}},
		{Path: "/v1/responses", Body: `{"model":"fast","input":"Hi"}`, Header: []string{"api-key", key}},
		{Path: "/v1/chat", Body: harness.Hello("fast"), Header: []string{"Authorization", "Bearer " + key}},
		{Path: "/v1/models", Header: []string{"Authorization", "Bearer " + key}},
	} {
		a.Key = harness.NoKey
		if r := g.h.Do(a); r.Status != http.StatusOK {
			t.Errorf("%s: got %d %s, want 200", a.Path, r.Status, r.Body)
		}
	}
}

// spend checks that budgets count the spending before and after the import, and usage only the later one.
func (g *importedGateway) spend(t *testing.T, key string) {
	h := g.h
	var spent llm.Money
	var budget account.Budget
	read := func() {
		withPeople(h, func(ctx context.Context, d *admin.Admin) error {
			a, err := d.Accounts.Account(ctx, "Research-Team")
			if err != nil {
				return err
			}
			status, err := a.BudgetStatus(ctx, d.Now(), d.Ledger.Spent)
			spent, budget = status.Spent, a.Budget
			return err
		})
	}
	usage := func() (cost llm.Money, requests string) {
		var page harness.UsesPage
		harness.Decode(t, h.Do(harness.Ask{Path: "/v1/uses", Key: key}).Body, &page)
		return must.Get(llm.ParseMoney(page.Total.Cost.String()))(t), page.Total.Requests.String()
	}
	harness.Await(t, "the usage", func() bool { _, n := usage(); return n == "5" })
	cost, _ := usage()
	harness.Await(t, "the balance", func() bool { read(); return spent == 42_500_000_000+cost })
	if cost <= 0 || budget.Limit != 100*llm.USD || budget.Period != "month" {
		t.Errorf("got a cost of %v and a budget of %+v, want some and $100 a month", cost, budget)
	}
}

// TestImportedConfiguration checks that the configurations imported from LiteLLM's files are valid, and that the
// content of weir.yaml precedes them.
func TestImportedConfiguration(t *testing.T) {
	t.Parallel()
	for _, file := range must.Get(filepath.Glob("../../imports/litellm/testdata/*.txtar"))(t) {
		h := harness.NewGateway(t, harness.Setup{YAML: "providers: {mistral: {api_keys: [k]}}\n"})
		parts := map[string][]byte{}
		for _, f := range must.Get(txtar.ParseFile(file))(t).Files {
			parts[f.Name] = f.Data
		}
		variables := map[string]string{}
		for line := range strings.Lines(string(parts["env"])) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			variables[name] = value
		}
		withFiles(h, fileOf(h, variables), func(ctx context.Context, d *admin.Admin) error {
			in := &litellm.Import{Now: d.Now(), Getenv: func(name string) (string, bool) { v, ok := variables[name]; return v, ok }}
			in.Config = must.Get(config.ParseTree(file, parts["config.yaml"]))(t)
			plan := must.Get(in.Plan(ctx))(t)
			done, err := d.Imports.Import(ctx, audit.Gateway(), plan, admin.ImportOptions{})
			if err != nil {
				t.Errorf("%s: %v", file, err)
			}
			objects := 0
			for _, section := range plan.Config {
				objects += len(section)
			}
			if _, taken := plan.Config["providers"]["mistral"]; taken {
				objects--
				if !slices.ContainsFunc(done.Left, func(l imports.Left) bool { return l.From == "providers.mistral" }) {
					t.Errorf("%s: no note says that weir.yaml has the provider: %+v", file, done.Left)
				}
			}
			if len(done.Config) > objects {
				t.Errorf("%s: got %d changes, want at most the %d objects that weir.yaml has not", file, len(done.Config), objects)
			}
			return nil
		})
	}
}
