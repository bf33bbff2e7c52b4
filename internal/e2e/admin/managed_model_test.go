package admin_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"weir/internal/admin"
	"weir/internal/audit"
	"weir/internal/config"
	"weir/internal/e2e/harness"
	"weir/internal/managed"
	"weir/internal/must"
	"weir/internal/store/pgtest"
)

// aliasModel predicts the configuration in force: the aliases of the file and of each version, each the number of its
// target.
type aliasModel struct {
	file     map[string]int
	versions []map[string]int // the first is empty
}

func (m *aliasModel) managed() map[string]int { return m.versions[len(m.versions)-1] }

func (m *aliasModel) inForce() map[string]int {
	all := maps.Clone(m.managed())
	maps.Copy(all, m.file)
	return all
}

// add adds a version, unless nothing changes.
func (m *aliasModel) add(next map[string]int) {
	if !maps.Equal(next, m.managed()) {
		m.versions = append(m.versions, next)
	}
}

// managedFixture is a database with its configuration file.
type managedFixture struct {
	t        *testing.T
	database string
	files    config.Options
	data     *admin.Admin
}

// TestManagedModel checks that any sequence of changes, by the file, by weir apply and by restoring versions, ends in
// the model's prediction, on both engines.
func TestManagedModel(t *testing.T) {
	t.Parallel()
	server := pgtest.New(t)
	for name, database := range map[string]string{"SQLite": "", "PostgreSQL": server.URL("postgres")} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			f := &managedFixture{t: t, database: database, files: config.Options{
				File: filepath.Join(dir, "weir.yaml"), Data: filepath.Join(dir, "data"), Environ: func() []string { return nil },
				Getenv: func(string) (string, bool) { return "", false },
			}}
			f.write(nil)
			f.data = must.Get(admin.Open(t.Context(), must.Get(config.Load(f.files))(t), f.files, harness.Discard()))(t)
			defer f.data.Close()
			runs, failed := 0, false
			rapid.Check(t, func(r *rapid.T) {
				if runs++; !failed && database != "" && runs%4 != 0 {
					return // a quarter of the runs will do where each step goes to a server
				}
				defer func() { failed = failed || r.Failed() }()
				f.check(r)
			})
		})
	}
}

// write writes the file, with these aliases.
func (f *managedFixture) write(aliases map[string]int) {
	text := fmt.Sprintf("database: %q\n", f.database) + aliasesYAML(aliases)
	must.Do(f.t, os.WriteFile(f.files.File, []byte(text), 0o600))
}

func (f *managedFixture) versions() int64 {
	list := must.Get(f.data.Configuration.Listed(f.t.Context(), 1))(f.t)
	if len(list) == 0 {
		return 0
	}
	return list[0].Seq
}

func (f *managedFixture) check(r *rapid.T) {
	f.write(nil)
	must.Get(f.data.Configuration.Edit(f.t.Context(), audit.Gateway(), managed.Edit{Prune: true}))(f.t)
	base := f.versions()
	m := &aliasModel{file: map[string]int{}, versions: []map[string]int{{}}}
	names := rapid.SampledFrom([]string{"a", "b", "c", "d"})
	for range rapid.IntRange(1, 12).Draw(r, "steps") {
		switch rapid.SampledFrom([]string{"apply", "apply", "restore", "file", "remove"}).Draw(r, "step") {
		case "file":
			m.file = rapid.MapOfN(names, rapid.IntRange(0, 3), 0, 2).Draw(r, "file")
			f.write(m.file)
		case "remove":
			m.remove(r, f, names.Draw(r, "name"))
		case "restore":
			seq := rapid.IntRange(1, len(m.versions)).Draw(r, "version")
			_, err := f.data.Configuration.Restore(f.t.Context(), audit.Gateway(), base+int64(seq), nil)
			if known := seq < len(m.versions); known != (err == nil) {
				r.Fatalf("restore %d of %d: %v", seq, len(m.versions)-1, err)
			} else if known {
				m.add(m.versions[seq])
			}
		default:
			change := rapid.MapOfN(names, rapid.IntRange(0, 3), 0, 3).Draw(r, "change")
			m.apply(r, f, change, rapid.Bool().Draw(r, "prune"))
		}
		if got := f.inForce(); !maps.Equal(got, m.inForce()) {
			r.Fatalf("in force: got %v, want %v", got, m.inForce())
		}
	}
	if got := f.versions() - base; got != int64(len(m.versions)-1) {
		r.Fatalf("versions: got %d, want %d", got, len(m.versions)-1)
	}
}

// remove removes an alias that is managed. Another one is refused.
func (m *aliasModel) remove(r *rapid.T, f *managedFixture, name string) {
	gone := managed.Edit{Remove: []managed.Ref{{Section: "aliases", Name: name}}}
	_, err := f.data.Configuration.Edit(f.t.Context(), audit.Gateway(), gone)
	next := maps.Clone(m.managed())
	if _, there := next[name]; there != (err == nil) {
		r.Fatalf("remove %s of %v: %v", name, next, err)
	}
	delete(next, name)
	m.add(next)
}

// apply applies a change, which is refused if the file has a different object of the same name.
func (m *aliasModel) apply(r *rapid.T, f *managedFixture, change map[string]int, prune bool) {
	e := managed.Edit{Text: []byte(aliasesYAML(change)), Prune: prune}
	_, err := f.data.Configuration.Edit(f.t.Context(), audit.Gateway(), e)
	next := map[string]int{}
	if !prune {
		next = maps.Clone(m.managed())
	}
	for name, target := range change {
		own, there := m.file[name]
		if there && own != target {
			if err == nil {
				r.Fatalf("change %v next to the file's %v was accepted", change, m.file)
			}
			return
		}
		if !there {
			next[name] = target
		}
	}
	if err != nil {
		r.Fatalf("change %v: %v", change, err)
	}
	m.add(next)
}

// aliasesYAML formats aliases for the file.
func aliasesYAML(all map[string]int) string {
	text := "aliases:\n"
	for _, name := range slices.Sorted(maps.Keys(all)) {
		text += fmt.Sprintf("  %s: {targets: [demo/m%d], strategy: fallback}\n", name, all[name])
	}
	return text
}

func (f *managedFixture) inForce() map[string]int {
	doc := must.Get(f.data.Configuration.Document(f.t.Context()))(f.t)
	got := map[string]int{}
	for name, value := range doc["aliases"] {
		var target int
		must.Get(fmt.Sscanf(fmt.Sprint(value.(map[string]any)["targets"]), "[demo/m%d]", &target))(f.t)
		got[name] = target
	}
	return got
}
