package config

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"
)

const (
	prefix     = "WEIR_"
	fileSuffix = "_FILE"
)

// environment applies the WEIR_ variables to cfg, sorted by name, so that WEIR_PROVIDERS precedes variables of its
// entries.
func (l *loader) environment(cfg *Config) {
	vars := map[string]string{}
	for _, v := range l.opts.Environ() {
		name, value, _ := strings.Cut(v, "=")
		if strings.HasPrefix(name, prefix) && !isForeign(name, value) {
			vars[name] = value
		}
	}
	root := reflect.ValueOf(cfg).Elem()
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		if !l.direct(root, name, vars) && !l.fromFile(root, name, vars) {
			l.warn("unknown variable %s is ignored%s", name, suggestVariable(name, root.Type()))
		}
	}
}

// isForeign reports whether a variable belongs to another reader: a part of this program, a client that follows the
// documentation, or Kubernetes, which sets variables for a service named weir (kubernetes.io/docs, "Service environment
// variables").
func isForeign(name, value string) bool {
	switch name {
	case "WEIR_CONFIG", "WEIR_KEY", "WEIR_MOVE_TO", "WEIR_TEST_REQUIRE", "WEIR_TEST_POSTGRES":
		return true
	case "WEIR_PORT":
		return strings.Contains(value, "://")
	}
	return strings.HasPrefix(name, "WEIR_PORT_") || strings.HasPrefix(name, "WEIR_SERVICE_")
}

// suggestVariable returns the end of a message about an unknown variable.
func suggestVariable(name string, t reflect.Type) string {
	words := append(variables(t), "CONFIG")
	if word, ok := Nearest(strings.TrimPrefix(name, prefix), words); ok {
		return "; did you mean `" + prefix + word + "`?"
	}
	return ""
}

// direct sets the value that the variable names. It returns false if there is none.
func (l *loader) direct(root reflect.Value, name string, vars map[string]string) bool {
	return name != prefix && l.descend(root, "", strings.TrimPrefix(name, prefix),
		variable{name, func(v reflect.Value, path string) {
			l.setText(origin{file: name}, v, path, vars[name])
		}})
}

// fromFile sets the value that the variable names without its suffix _FILE to the content of the file with that path.
func (l *loader) fromFile(root reflect.Value, name string, vars map[string]string) bool {
	base, ok := strings.CutSuffix(name, fileSuffix)
	if !ok || base == strings.TrimSuffix(prefix, "_") {
		return false
	}
	return l.descend(root, "", strings.TrimPrefix(base, prefix), variable{name, func(v reflect.Value, path string) {
		o := origin{file: name, written: "${file:" + vars[name] + "}"}
		if _, both := vars[base]; both {
			l.reportAt(o, path, "%s is set too; remove one of the two", base)
			return
		}
		text, err := l.secretFile(vars[name])
		if err != nil {
			l.reportAt(o, path, "%v", err)
			return
		}
		l.setText(o, v, path, text)
	}})
}

// variable is a name, and the function that sets the named value.
type variable struct {
	name string
	set  func(v reflect.Value, path string)
}

// descend finds the value for the rest of a variable's name.
func (l *loader) descend(v reflect.Value, path, tail string, do variable) bool {
	if tail == "" {
		do.set(v, path)
		return true
	}
	switch shapeOf(v.Type()) {
	case structShape:
		for _, key := range fieldKeys(v.Type()) {
			rest, ok := cutKey(tail, key)
			if ok && l.descend(fieldByKey(v, key), join(path, key), rest, do) {
				return true
			}
		}
	case entryShape:
		return l.descendEntry(v, path, tail, do)
	}
	return false
}

// descendEntry finds the entry with a name at the start of the rest: an existing one, longest name first, or else a new
// one.
func (l *loader) descendEntry(v reflect.Value, path, tail string, do variable) bool {
	names := entryKeys(v.Type())
	if names == nil {
		names = entryNames(v)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(mangle(a), mangle(b)), cmp.Compare(a, b))
	})
	for i, name := range names {
		rest, ok := cutKey(tail, name)
		if !ok {
			continue
		}
		if i+1 < len(names) && mangle(names[i+1]) == mangle(name) {
			l.reportAt(origin{file: do.name}, path, "the name is ambiguous: it could mean %s or %s; set it in the file",
				ticks(name), ticks(names[i+1]))
			return true
		}
		if l.intoEntry(v, path, name, rest, do) {
			return true
		}
	}
	if name, rest, ok := newEntry(v.Type(), tail); ok {
		return l.intoEntry(v, path, name, rest, do)
	}
	return false
}

func (l *loader) intoEntry(v reflect.Value, path, name, rest string, do variable) bool {
	elem, store := entry(v, name)
	found := l.descend(elem, join(path, name), rest, do)
	if found {
		store()
	}
	if p := join(path, name); found && !l.isSet(p) {
		l.mark(p, origin{file: do.name})
	}
	return found
}

// newEntry splits the rest of a variable's name into the name of a new entry and the key in it. It creates only
// providers and aliases, because names of models contain a slash, which variables cannot express.
func newEntry(t reflect.Type, tail string) (name, rest string, ok bool) {
	if t.Elem() != reflect.TypeFor[Provider]() && t.Elem() != reflect.TypeFor[Alias]() {
		return "", "", false
	}
	for _, key := range variables(t.Elem()) {
		before, found := strings.CutSuffix(tail, "_"+key)
		if found && before != "" && len(key) > len(rest) {
			name, rest, ok = strings.ToLower(before), key, true
		}
	}
	return name, rest, ok
}

// entryNames returns the names in a mapping by name.
func entryNames(v reflect.Value) []string {
	var names []string
	if providers, ok := v.Interface().([]Provider); ok {
		for i := range providers {
			names = append(names, providers[i].Name)
		}
		return names
	}
	for _, key := range v.MapKeys() {
		names = append(names, key.String())
	}
	slices.Sort(names)
	return names
}

// cutKey removes a key, in the form of variables, from the start of a name.
func cutKey(tail, key string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(tail, mangle(key))
	if !ok || rest == "" {
		return "", ok
	}
	rest, ok = strings.CutPrefix(rest, "_")
	return rest, ok && rest != ""
}

// setText sets a value to a variable's text: a scalar unchanged, a list separated by commas, a block of keys as YAML.
func (l *loader) setText(o origin, v reflect.Value, path, text string) {
	shape := shapeOf(v.Type())
	switch {
	case shape == listShape:
		l.setList(o, v, path, text)
	case shape == scalarShape && (text != "" || takesEmpty(v.Type())):
		l.mark(path, o)
		l.set(v, path, text)
	case shape == structShape || shape == entryShape:
		l.mark(path, o)
		l.text(o, v, path, []byte(text), nil)
	}
}

func (l *loader) setList(o origin, v reflect.Value, path, text string) {
	l.forget(path)
	l.mark(path, o)
	v.SetZero()
	if strings.TrimSpace(text) == "" {
		return
	}
	for i, item := range strings.Split(text, ",") {
		elem := reflect.New(v.Type().Elem()).Elem()
		p := index(path, i)
		l.mark(p, o)
		l.set(elem, p, strings.TrimSpace(item))
		v.Set(reflect.Append(v, elem))
	}
}
