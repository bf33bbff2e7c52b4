//go:build unix

package crashtest_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"weir/internal/must"
	"weir/internal/processtest"
)

// configKillsFlag is the number of kills for each way of changing the configuration, at times spread over its duration.
var configKillsFlag = flag.Int("config.kills", 3, "how often each change of the configuration, and an import, is killed")

// configObjects is the number of objects of each change.
const configObjects = 300

// TestConfigKilled kills processes while they change the managed configuration: weir apply, weir config restore, and a
// gateway with a request at its API. There is never half a version: all objects are of one change, and the audit log
// has all of each version or nothing.
func TestConfigKilled(t *testing.T) {
	t.Parallel()
	bin := build(t)
	t.Run("SQLite", func(t *testing.T) { testConfigKilled(t, bin, "") })
	t.Run("PostgreSQL", func(t *testing.T) { testConfigKilled(t, bin, newServer(t).URL(database)) })
}

// configKiller changes the configuration of an installation, and is killed.
type configKiller struct {
	*testGateway
	token string        // of a key that administers
	took  time.Duration // the duration of a change without a kill
	made  int           // changes that were begun; each has its own number
	kills int
}

func testConfigKilled(t *testing.T, bin, url string) {
	ctx, cancel := deadline(t)
	defer cancel()
	k := &configKiller{testGateway: bareGateway(ctx, t, seed(), bin)}
	k.env = []string{"WEIR_DATA=" + filepath.Join(k.dir, "data"), "WEIR_DATABASE=" + url}
	k.configure("providers: {}\n")
	k.run("accounts", "create", "operators")
	k.token = strings.TrimSpace(string(k.run("keys", "create", "--account", "operators", "--label", "changes", "--permission", "admin")))
	k.run("apply", "-f", k.change())
	began := time.Now()
	k.run("apply", "-f", k.change())
	k.took = time.Since(began)
	k.whole()
	kills := *configKillsFlag
	for i := range kills {
		after := k.took * time.Duration(i+1) / time.Duration(kills)
		k.killCommand(after, "apply", "-f", k.change())
		k.killCommand(after, "config", "restore", strconv.FormatInt(k.version()-1, 10))
		k.killGateway(after)
	}
	t.Logf("a change of %d objects takes %s; killed %d times, %d versions", configObjects, k.took.Round(time.Millisecond), k.kills, k.version())
	if k.kills < kills {
		t.Errorf("killed: got %d times, want at least %d", k.kills, kills)
	}
}

// TestImportKilled kills weir import in the middle, again and again: in the end the installation has the same content
// as after an import without kills.
func TestImportKilled(t *testing.T) {
	t.Parallel()
	bin := build(t)
	t.Run("SQLite", func(t *testing.T) { testImportKilled(t, bin, "", "") })
	t.Run("PostgreSQL", func(t *testing.T) {
		testImportKilled(t, bin, newServer(t).URL(database), newServer(t).URL(database))
	})
}

func testImportKilled(t *testing.T, bin, url, whole string) {
	ctx, cancel := deadline(t)
	defer cancel()
	k := &configKiller{testGateway: bareGateway(ctx, t, seed(), bin)}
	k.configure("providers: {}\n")
	of := func(name, url string) {
		k.env = []string{"WEIR_DATA=" + filepath.Join(k.dir, name), "WEIR_DATABASE=" + url, "KEY=k"}
	}
	args := []string{"import", "bifrost", "--config", k.customers(), "--yes"}
	of("whole", whole)
	k.run("migrate") // creates the database
	began := time.Now()
	k.run(args...)
	took := time.Since(began)
	want := k.imported()
	of("killed", url)
	k.run("migrate")
	kills := *configKillsFlag
	for i := range kills {
		p := processtest.Start(t, k.command(args...), filepath.Join(k.dir, "import.log"), "never")
		if !p.EndsWithin(took * time.Duration(i+1) / time.Duration(kills+1)) {
			p.Kill()
			k.kills++
		}
	}
	k.run(args...)
	must.Equal(t, k.imported(), want, "the imported objects (-killed +not killed)")
	k.run("audit", "verify")
	t.Logf("an import takes %s; killed %d times", took.Round(time.Millisecond), k.kills)
	if k.kills == 0 || len(want) < 1+importedKeys {
		t.Errorf("killed %d times, and %d lines were imported", k.kills, len(want))
	}
}

// importedKeys is the number of keys in the other gateway's file: more than fit into a transaction.
const importedKeys = 450

// customers writes a file of another gateway.
func (k *configKiller) customers() string {
	k.t.Helper()
	var keys []string
	for i := range importedKeys {
		keys = append(keys, fmt.Sprintf(`{"id": "vk%d", "name": "key %d", "value": "sk-bf-%032d", "customer_id": "c%d", "provider_configs": [{"provider": "openai", "allowed_models": ["*"]}]}`, i, i, i, i%3))
	}
	text := fmt.Sprintf(`{"providers": {"openai": {"keys": [{"name": "a", "value": "env.KEY", "models": ["*"]}]}}, "governance": {
		"customers": [{"id": "c0", "name": "One"}, {"id": "c1", "name": "Two"}, {"id": "c2", "name": "Three"}], "virtual_keys": [%s]}}`, strings.Join(keys, ","))
	file := filepath.Join(k.dir, "bifrost.json")
	must.Do(k.t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// imported lists the imported objects, a line each, without values that are new each time.
func (k *configKiller) imported() (lines []string) {
	k.t.Helper()
	lines = append(lines, string(k.run("export-config")))
	var accounts []struct{ Name string }
	must.Do(k.t, json.Unmarshal(k.run("accounts", "list", "--json"), &accounts))
	for _, a := range accounts {
		var keys []struct{ Label, Last4, Status string }
		must.Do(k.t, json.Unmarshal(k.run("keys", "list", "--account", a.Name, "--json"), &keys))
		for _, key := range keys {
			lines = append(lines, fmt.Sprint(a.Name, " ", key))
		}
	}
	slices.Sort(lines)
	return lines
}

// change writes a file with the next change. All its objects have the number of the change.
func (k *configKiller) change() string {
	k.t.Helper()
	k.made++
	var text strings.Builder
	text.WriteString("aliases:\n")
	for i := range configObjects {
		fmt.Fprintf(&text, "  a%d: {targets: [demo/m%d], strategy: fallback}\n", i, k.made)
	}
	file := filepath.Join(k.dir, "change.yaml")
	must.Do(k.t, os.WriteFile(file, []byte(text.String()), 0o600))
	return file
}

// killCommand kills a command after that time, unless it has ended.
func (k *configKiller) killCommand(after time.Duration, args ...string) {
	k.t.Helper()
	p := processtest.Start(k.t, k.command(args...), filepath.Join(k.dir, "command.log"), "never")
	if !p.EndsWithin(after) {
		p.Kill()
	}
	k.ended(p, strings.Join(args, " "))
}

// killGateway kills a gateway the given time after a request for a change.
func (k *configKiller) killGateway(after time.Duration) {
	k.t.Helper()
	p := processtest.Start(k.t, k.command("serve", "--listen", "127.0.0.1:0"), filepath.Join(k.dir, "gateway.log"), "listening")
	objects := map[string]any{}
	k.made++
	for i := range configObjects {
		objects[fmt.Sprintf("a%d", i)] = map[string]any{"targets": []string{fmt.Sprintf("demo/m%d", k.made)}, "strategy": "fallback"}
	}
	body := must.Get(json.Marshal(map[string]any{"document": map[string]any{"aliases": objects}}))(k.t)
	r := must.Get(http.NewRequestWithContext(k.ctx, http.MethodPost, "http://"+p.AwaitAddress(k.t)+"/admin/v1/config", bytes.NewReader(body)))(k.t)
	r.Header.Set("Authorization", "Bearer "+k.token)
	r.Header.Set("Content-Type", "application/json")
	answered := make(chan string, 1)
	go func() {
		answer, err := k.client.Do(r)
		if err != nil {
			answered <- ""
			return
		}
		_ = answer.Body.Close()
		answered <- answer.Status
	}()
	time.Sleep(after / 4) // most of a command's time is its start
	p.Kill()
	if status := <-answered; status != "" && status != "200 OK" {
		k.t.Fatalf("POST /admin/v1/config: got %s, want 200 OK or no answer", status)
	}
	k.ended(p, "serve")
}

// ended checks the database after the end of a process.
func (k *configKiller) ended(p *processtest.Process, what string) {
	k.t.Helper()
	switch {
	case wasKilled(p):
		k.kills++
	case !p.Cmd.ProcessState.Success():
		k.t.Fatalf("weir %s: %s", what, p.LastLines())
	}
	k.whole()
}

// whole fails unless all objects in force are of one change, and the audit log has all objects of each version.
func (k *configKiller) whole() {
	k.t.Helper()
	changes := map[string]int{}
	for _, target := range regexp.MustCompile(`demo/m\d+`).FindAllString(string(k.run("export-config")), -1) {
		changes[target]++
	}
	for change, n := range changes {
		if n != configObjects || len(changes) != 1 {
			k.t.Fatalf("in force: got %d objects of %s and %d changes, want %d of one change", n, change, len(changes), configObjects)
		}
	}
	entries := int64(bytes.Count(k.run("audit", "export", "--format", "jsonl", "--action", "config."), []byte(`"action":"config.changed"`)))
	if version := k.version(); entries != version*configObjects {
		k.t.Fatalf("audit log: got %d objects in %d versions, want %d each", entries, version, configObjects)
	}
	k.run("audit", "verify")
}

// version returns the number of the newest version.
func (k *configKiller) version() int64 {
	k.t.Helper()
	var all []struct {
		Version int64 `json:"version"`
	}
	must.Do(k.t, json.Unmarshal(k.run("config", "versions", "--limit", "1", "--json"), &all))
	if len(all) == 0 {
		return 0
	}
	return all[0].Version
}
