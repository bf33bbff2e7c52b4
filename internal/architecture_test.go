// Package internal_test checks the layers of the product.
package internal_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"weir/internal/must"
)

// layers lists the packages, each of which may import only those below it.
var layers = [][]string{
	{"audit", "disk", "fairqueue", "h1", "lifetime", "llm", "outbound", "pdf", "picture", "rawio", "rawjson", "recording", "sse", "stored", "systemd"},
	{"backup", "charge", "dialect", "dialect/alike", "dialect/callid", "dialect/clienttool", "dialect/compose", "dialect/explain", "dialect/parse", "dialect/position", "dialect/proof", "dialect/rules", "dialect/stamp", "formdata", "httpserver", "idempotency", "managed", "redaction", "refusal", "seal", "websocket"},
	{"answercache", "contentlog", "conversation", "credential", "opensocket", "promptcache", "dialect/native", "dialect/openai", "dialect/anthropic", "dialect/gemini", "dialect/bedrock", "dialect/cohere", "dialect/ollama"},
	{"dialect/responses"},
	{"dialect/registry", "pricing", "budget"},
	{"ledger"},
	{"config", "provider", "account", "mcp", "reconcile", "report", "telemetry", "tracing", "webhook"},
	{"alert", "capacity", "connection", "mcp/stdio", "people", "route", "ratelimit"},
	{"plan", "quote", "imports", "oauth", "signin", "tool", "toolloop"},
	{"gateway", "manual", "store", "simulator", "imports/litellm", "imports/bifrost", "toolserver", "realtime"},
	{"socket", "upstream"},
	{"admin"},
	{"admintool", "dashboard", "api"},
	{"app"},
}

// soleImporters names the only importers of a package.
var soleImporters = map[string][]string{
	"weir/internal/config": {"weir/internal/upstream", "weir/internal/admin", "weir/internal/app", "weir/cmd/weir"},
	"weir/internal/store":  {"weir/internal/admin", "weir/internal/app"},

	"weir/internal/dialect/native":    {"weir/internal/dialect/registry"},
	"weir/internal/dialect/openai":    {"weir/internal/dialect/registry", "weir/internal/dialect/responses"},
	"weir/internal/dialect/responses": {"weir/internal/dialect/registry"},
	"weir/internal/dialect/anthropic": {"weir/internal/dialect/registry"},
	"weir/internal/dialect/gemini":    {"weir/internal/dialect/registry"},
	"weir/internal/dialect/bedrock":   {"weir/internal/dialect/registry", "weir/internal/dialect/registry/registrytest", "weir/internal/dialect/bedrock/bedrocktest"},
	"weir/internal/dialect/cohere":    {"weir/internal/dialect/registry", "weir/internal/dialect/registry/registrytest", "weir/internal/dialect/cohere/coheretest"},
	"weir/internal/dialect/ollama":    {"weir/internal/dialect/registry", "weir/internal/dialect/registry/registrytest", "weir/internal/dialect/ollama/ollamatest"},

	"modernc.org/sqlite":             {"weir/internal/store"},
	"code.dny.dev/ssrf":              {"weir/internal/outbound"},
	"database/sql":                   {"weir/internal/store"},
	"github.com/jackc/pgx/v5":        {"weir/internal/store", "weir/internal/store/pgtest"},
	"github.com/jackc/pgx/v5/stdlib": {"weir/internal/store"},
	"github.com/spf13/cobra":         {"weir/cmd/weir"},

	"github.com/modelcontextprotocol/go-sdk/mcp":     {"weir/internal/admintool"},
	"github.com/modelcontextprotocol/go-sdk/auth":    {"weir/internal/connection"},
	"github.com/modelcontextprotocol/go-sdk/oauthex": {"weir/internal/connection"},

	"github.com/valkey-io/valkey-go": {"weir/internal/ratelimit"},
	"github.com/minio/minio-go/v7":   {"weir/internal/backup"},
	"github.com/yuin/goldmark":       {"weir/internal/manual"},

	"github.com/parquet-go/parquet-go": {"weir/internal/reconcile"},

	"github.com/cespare/xxhash/v2":                   {"weir/internal/route"},
	"github.com/prometheus/client_golang/prometheus": {"weir/internal/telemetry"},
	"go.opentelemetry.io/otel":                       {"weir/internal/tracing"},

	"github.com/aws/aws-sdk-go-v2/config":              {"weir/internal/credential"},
	"golang.org/x/oauth2":                              {"weir/internal/signin", "weir/internal/connection", "weir/internal/credential", "weir/internal/mcp"},
	"github.com/coreos/go-oidc/v3/oidc":                {"weir/internal/signin"},
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity": {"weir/internal/credential"},
}

// banned lists names that do not describe a package's content.
var banned = []string{"core", "common", "utils", "util", "types", "models", "service", "middleware", "handlers", "interfaces", "helpers"}

type goPackage struct {
	ImportPath string
	Imports    []string
}

func TestImportsGoDownward(t *testing.T) {
	t.Parallel()
	level := map[string]int{"weir/cmd/weir": len(layers), "weir": -1}
	for i, names := range layers {
		for _, name := range names {
			level["weir/internal/"+name] = i
		}
	}
	for _, p := range goList(t) {
		own, ok := level[p.ImportPath]
		if !ok {
			if !isTestSupport(p.ImportPath) {
				t.Errorf("%s has no layer: give it one here and in ARCHITECTURE.md", p.ImportPath)
			}
			continue
		}
		for _, imported := range p.Imports {
			if below, ours := level[imported]; ours && below >= own {
				t.Errorf("%s (layer %d) imports %s (layer %d): only downward", p.ImportPath, own, imported, below)
			}
			if only, guarded := soleImporters[imported]; guarded && !slices.Contains(only, p.ImportPath) {
				t.Errorf("%s imports %s: only %s may", p.ImportPath, imported, strings.Join(only, ", "))
			}
		}
	}
}

func TestPackageNamesSayTheirContent(t *testing.T) {
	t.Parallel()
	for _, p := range goList(t) {
		for part := range strings.SplitSeq(p.ImportPath, "/") {
			if slices.Contains(banned, part) {
				t.Errorf("%s: %q does not describe the content", p.ImportPath, part)
			}
		}
	}
}

// isTestSupport reports whether only tests import a package.
func isTestSupport(path string) bool {
	return strings.HasSuffix(path, "test") || strings.HasPrefix(path, "weir/internal/crash") || strings.HasPrefix(path, "weir/internal/e2e/") || path == "weir/internal" || path == "weir/internal/must" || path == "weir/bench"
}

func goList(t *testing.T) []goPackage {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports", "weir/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []goPackage
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			return all
		}
		must.Do(t, err)
		all = append(all, p)
	}
}
