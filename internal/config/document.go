package config

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"weir/internal/llm"
	"weir/internal/managed"
)

// Document is the managed configuration, which is stored in the database in addition to the file: the objects of each
// section by name. The sections limits, cors and retention have one object each, with an empty name. Values are as in
// YAML; references are not replaced.
type Document map[string]map[string]any

// managedSections returns the sections of the file that can be managed.
func managedSections() []string {
	return []string{
		"providers", "models", "aliases", "prices", "mcp_servers", "mcp_bundles", "limits", "cors", "retention",
	}
}

// isOne reports whether a section is a single object.
func isOne(section string) bool {
	return section == "limits" || section == "cors" || section == "retention"
}

// ParseDocument parses YAML with only managed sections. The error is of type Problems.
func ParseDocument(file string, src []byte) (Document, error) {
	doc, _, err := parseDocument(file, src, func(r *recorder, p pair) {
		r.reportAt(p.at, p.key, "%s cannot be managed%s; set it in the configuration file", ticks(p.key),
			suggest(p.key, managedSections()))
	})
	return doc, err
}

// parseDocument also returns the place of each object, by its path.
func parseDocument(file string, src []byte, other func(*recorder, pair)) (Document, map[string]origin, error) {
	r := &recorder{origins: map[string]origin{}, unknown: map[string]bool{}}
	d := decoder{recorder: r, file: file}
	doc := Document{}
	if body := r.parse(file, src); body != nil {
		for _, section := range d.pairs("", body) {
			if !slices.Contains(managedSections(), section.key) {
				other(r, section)
				continue
			}
			d.section(doc, section)
		}
	}
	if len(r.problems) > 0 {
		r.problems.sort()
		return nil, nil, r.problems
	}
	return doc, r.origins, nil
}

// section decodes the objects of a section.
func (d *decoder) section(doc Document, section pair) {
	if _, null := section.value.(*ast.NullNode); null || section.value == nil {
		return
	}
	objects := []pair{{"", section.at, section.value}}
	if !isOne(section.key) {
		objects = d.pairs(section.key, section.value)
	}
	for _, o := range objects {
		d.object(doc, section.key, o)
	}
}

// object decodes one object of a section.
func (d *decoder) object(doc Document, section string, o pair) {
	var value any
	if err := yaml.NodeToValue(o.value, &value); err != nil {
		d.reportUnread(o.at.file, err)
		return
	}
	for _, s := range secretSections() {
		fields, ok := value.(map[string]any)
		if !ok || section != s.name {
			continue
		}
		for key := range secretKeys(s.of) {
			if _, isObject := fields[key].(map[string]any); isObject { // it would be treated as a text to hide
				d.reportAt(o.at, pathOf(section, o.key), "%s must be a text", ticks(key))
			}
		}
	}
	if value != nil {
		doc.put(section, o.key, value)
		d.mark(pathOf(section, o.key), o.at)
	}
}

func (d Document) put(section, name string, value any) {
	if d[section] == nil {
		d[section] = map[string]any{}
	}
	d[section][name] = value
}

// sections returns the document in the structure of the file.
func (d Document) sections() map[string]any {
	all := map[string]any{}
	for section, objects := range d {
		if isOne(section) {
			all[section] = objects[""]
		} else if len(objects) > 0 {
			all[section] = objects
		}
	}
	return all
}

// JSON returns the document in canonical form. YAML parsers can read it too.
func (d Document) JSON() ([]byte, error) { return json.Marshal(d.sections()) }

// YAML returns the document in the form that people write.
func (d Document) YAML() ([]byte, error) {
	if len(d.sections()) == 0 {
		return nil, nil
	}
	return yaml.MarshalWithOptions(d.sections(), yaml.IndentSequence(true))
}

// Clone returns a copy of the document. Its values are shared and must not be changed.
func (d Document) Clone() Document {
	c := Document{}
	for section, objects := range d {
		c[section] = maps.Clone(objects)
	}
	return c
}

// With returns the document with the objects of another one, which replace its own. Prune drops all other objects.
func (d Document) With(change Document, prune bool) Document {
	next := d.Clone()
	if prune {
		next = Document{}
	}
	for section, objects := range change {
		for name, value := range objects {
			next.put(section, name, value)
		}
	}
	return next
}

// pathOf returns the path of an object.
func pathOf(section, name string) string {
	if isOne(section) {
		return section
	}
	return join(section, name)
}

// Changes returns the differences from one document to another, by path.
func (d Document) Changes(after Document) (all []managed.Change) {
	was, becomes := d.Hidden(), after.Hidden()
	for _, section := range managedSections() {
		names := map[string]bool{}
		for name := range was[section] {
			names[name] = true
		}
		for name := range becomes[section] {
			names[name] = true
		}
		for _, name := range slices.Sorted(maps.Keys(names)) {
			c := managed.Change{
				Path: pathOf(section, name), Section: section, Name: name,
				Before: was[section][name], After: becomes[section][name],
			}
			if !same(c.Before, c.After) {
				all = append(all, c)
			}
		}
	}
	return all
}

// same reports whether two values have the same JSON.
func same(a, b any) bool {
	one, err := json.Marshal(a)
	other, otherErr := json.Marshal(b)
	return err == nil && otherErr == nil && bytes.Equal(one, other)
}

// sealedPrefix is the prefix of the text that replaces a secret in a document for people.
const sealedPrefix = "sealed:"

// isReference reports whether a text is only a reference to a secret.
func isReference(text string) bool {
	rest, opened := strings.CutPrefix(text, "${")
	to, closed := strings.CutSuffix(rest, "}")
	path, isFile := strings.CutPrefix(to, "file:")
	return opened && closed && (isFile && path != "" && !strings.ContainsAny(path, "{}") || isVariable(to))
}

// hide returns the text that replaces a secret: its fingerprint and, if it is long, its last characters. References are
// shown.
func hide(secret string) string {
	if isReference(secret) || strings.HasPrefix(secret, sealedPrefix) {
		return secret
	}
	const shown, long = 4, 16
	sum := sha256.Sum256([]byte(secret))
	text := sealedPrefix + hex.EncodeToString(sum[:8])
	if len(secret) >= long {
		text += ":" + secret[len(secret)-shown:]
	}
	return text
}

// Hidden returns the document with secrets replaced by texts that Revealed can replace back.
func (d Document) Hidden() Document {
	hidden, _ := d.withSecrets(func(_ *secretSection, _, text string) (string, error) {
		return hide(text), nil // never fails
	})
	return hidden
}

// secretKeys returns the keys of a struct with secrets or lists of secrets.
func secretKeys(t reflect.Type) map[string]bool {
	keys := map[string]bool{}
	for f := range t.Fields() {
		secret := f.Type == reflect.TypeFor[llm.Secret]() || f.Type == reflect.TypeFor[[]llm.Secret]()
		if key, _ := tag(f); key != "" && secret {
			keys[key] = true
		}
	}
	return keys
}

// replaceTexts replaces a text, or all texts of a list.
func replaceTexts(v any, replace func(string) (string, error)) (any, error) {
	switch x := v.(type) {
	case nil:
		return nil, nil
	case []any:
		list := make([]any, len(x))
		for i := range x {
			var err error
			if list[i], err = replaceTexts(x[i], replace); err != nil {
				return nil, err
			}
		}
		return list, nil
	default:
		return replace(fmt.Sprint(x))
	}
}
