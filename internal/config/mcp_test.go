package config_test

import (
	"strings"
	"testing"

	"weir/internal/config"
	"weir/internal/must"
)

// TestKeyOfMCPServerIsBoundToItsHost uses the placeholder of a key with another server, and with another host.
func TestKeyOfMCPServerIsBoundToItsHost(t *testing.T) {
	t.Parallel()
	const home, key = "https://mcp.example.com/mcp", "canary-key-0123456789"
	server := func(name, url string) config.Document {
		return document(t, "mcp_servers: {"+name+": {url: \""+url+"\", api_key: "+key+"}}")
	}
	saved := server("house", home)
	for _, test := range []struct {
		name, url string
		same      bool
	}{
		{"house", home, true},
		{"house", "https://mcp.example.com/other", true},
		{"other", home, false},
		{"house", "https://mcp.example.org/mcp", false},
		{"house", "http://mcp.example.com/mcp", false},
	} {
		change := server(test.name, test.url).Hidden()
		if hidden := string(must.Get(change.JSON())(t)); strings.Contains(hidden, key) {
			t.Errorf("%s at %s: a hidden document shows the key: %s", test.name, test.url, hidden)
		}
		revealed, err := change.Revealed(saved)
		text := string(must.Get(revealed.JSON())(t))
		if got := err == nil && strings.Contains(text, key); got != test.same {
			t.Errorf("%s at %s: got the key %v, %v; want %v", test.name, test.url, got, err, test.same)
		}
	}
}

func TestMistakesOfMCPServersAreNamed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"mcp_servers: {git_hub: {url: \"https://example.com\"}}":                        "lower-case letters",
		"mcp_servers: {github: {tools: [a]}}":                                           "needs a `url`",
		"mcp_servers: {github: {url: \"https://u:p@example.com\"}}":                     "set `api_key` instead",
		"mcp_servers: {github: {url: \"https://example.com\", cost_member: x}}":         "cost_at_most",
		"mcp_servers: {github: {url: \"https://example.com\", max_result: 1GiB}}":       "64MiB",
		"mcp_servers: {github: {url: \"https://example.com\", timeout: 2h}}":            "at most 1h",
		"mcp_servers: {github: {url: \"https://example.com\", key_header: \"a b\"}}":    "name of a header",
		"mcp_servers: {files: {command: [server]}}":                                     "absolute path",
		"mcp_servers: {files: {command: [/bin/server], url: \"https://example.com\"}}":  "has no `url`",
		"mcp_servers: {files: {command: [/bin/server], env: [TOKEN]}}":                  "NAME=value",
		"mcp_servers: {files: {env: [A=b]}}":                                            "needs `command`",
		"mcp_bundles: {review: {}}":                                                     "needs `tools`",
		"mcp_bundles: {review: {tools: [github]}}":                                      "<server>/<name>",
		"providers: {mcp.github: {dialect: openai, base_url: \"https://example.com\"}}": "must not begin with",
	} {
		_, err := config.Load(config.Options{
			File: "weir.yaml", Environ: func() []string { return nil },
			Getenv:   func(string) (string, bool) { return "", false },
			ReadFile: func(string) ([]byte, error) { return []byte(text), nil },
		})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want a mistake with %q", text, err, want)
		}
	}
}

// TestOnlyFileNamesCommands checks that no document of the managed configuration can name a command or its environment,
// also next to the file's.
func TestOnlyFileNamesCommands(t *testing.T) {
	t.Parallel()
	const file = "mcp_servers: {files: {command: [/bin/server, --all], env: [\"TOKEN=canary-0123\"], tools: [\"*\"]}}"
	load := func(change string) (config.Config, error) {
		return config.Load(config.Options{
			File: "weir.yaml", Environ: func() []string { return nil },
			Getenv:   func(string) (string, bool) { return "", false },
			ReadFile: func(string) ([]byte, error) { return []byte(file), nil },
			Managed:  []byte(change),
		})
	}
	c := must.Get(load(""))(t)
	if s := c.MCPServers["files"]; len(s.Command) != 2 || len(s.Env) != 1 || s.Env[0].Reveal() != "TOKEN=canary-0123" {
		t.Errorf("got %v of the file", s)
	}
	if shown := string(c.Redacted()); strings.Contains(shown, "canary") || !strings.Contains(shown, "/bin/server") {
		t.Errorf("the variables are not redacted, or the command is: %s", shown)
	}
	for _, change := range []string{
		`{"mcp_servers": {"other": {"command": ["/bin/sh", "-c", "id"]}}}`,
		`{"mcp_servers": {"other": {"url": "https://example.com", "command": ["/bin/sh"]}}}`,
		`{"mcp_servers": {"other": {"url": "https://example.com", "env": ["LD_PRELOAD=/tmp/x"]}}}`,
		`{"mcp_servers": {"other": {"url": "https://example.com", "command": null}}}`,
	} {
		if _, err := load(change); err == nil || !strings.Contains(err.Error(), "cannot be managed") {
			t.Errorf("%s: got %v, want a refusal", change, err)
		}
	}
	c, err := load(`{"mcp_servers": {"files": {"command": ["/bin/sh"]}}}`)
	if err != nil || c.MCPServers["files"].Command[0] != "/bin/server" {
		t.Errorf("a managed server of the file's name: got %v, %v; want the file's", c, err)
	}
	hidden := string(must.Get(document(t, file).Hidden().JSON())(t))
	if strings.Contains(hidden, "canary") {
		t.Errorf("a hidden document shows the variables: %s", hidden)
	}
}
