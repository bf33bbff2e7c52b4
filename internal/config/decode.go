package config

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"weir/internal/llm"
)

// shape is the form of a Go type in the file.
type shape int

const (
	scalarShape shape = iota // one value
	structShape              // a mapping with the keys of the yaml tags
	entryShape               // a mapping by names that the operator chooses
	listShape                // a sequence of scalars
)

func shapeOf(t reflect.Type) shape {
	switch {
	case t == reflect.TypeFor[llm.Secret](), t == reflect.TypeFor[netip.Prefix]():
		return scalarShape
	case t.Kind() == reflect.Struct:
		return structShape
	case t.Kind() == reflect.Map, t == reflect.TypeFor[[]Provider]():
		return entryShape
	case t.Kind() == reflect.Slice:
		return listShape
	}
	return scalarShape
}

// decoder walks the tree of one text and fills in a part of a Config.
type decoder struct {
	*recorder
	file string
	// expand replaces references in a text; nil if references are not supported.
	expand func(text string) (string, []error)
}

// value decodes a node into v. A key without a value changes nothing, so that a block with only commented-out lines is
// valid.
func (d *decoder) value(v reflect.Value, path string, n ast.Node) {
	if _, null := n.(*ast.NullNode); null || n == nil {
		return
	}
	switch shapeOf(v.Type()) {
	case structShape:
		d.structure(v, path, n)
	case entryShape:
		d.entries(v, path, n)
	case listShape:
		d.list(v, path, n)
	default:
		d.scalar(v, path, n)
	}
}

func (d *decoder) structure(v reflect.Value, path string, n ast.Node) {
	keys := fieldKeys(v.Type())
	for _, pair := range d.pairs(path, n) {
		field := fieldByKey(v, pair.key)
		if !field.IsValid() {
			d.reportAt(pair.at, join(path, pair.key), "unknown key %s%s", ticks(pair.key), suggest(pair.key, keys))
			continue
		}
		p := join(path, pair.key)
		if d.file == managedFile && isOfFile(v.Type(), pair.key) {
			d.reportAt(pair.at, p, "%s cannot be managed, as it runs a program: set it in the file", ticks(p))
			continue
		}
		if shapeOf(field.Type()) != scalarShape {
			d.mark(p, pair.at)
		}
		d.value(field, p, pair.value)
	}
}

func (d *decoder) entries(v reflect.Value, path string, n ast.Node) {
	classes := entryKeys(v.Type())
	for _, pair := range d.pairs(path, n) {
		p := join(path, pair.key)
		if classes != nil && !slices.Contains(classes, pair.key) {
			d.reportAt(pair.at, p, "unknown key %s%s", ticks(pair.key), suggestOneOf(pair.key, classes))
			continue
		}
		d.mark(p, pair.at)
		elem, store := entry(v, pair.key)
		d.value(elem, p, pair.value)
		store()
	}
}

// entryKeys returns the permitted keys of a mapping by name; nil for any. Only the mapping with string values, which
// holds prices by class, restricts its keys.
func entryKeys(t reflect.Type) []string {
	if t.Elem().Kind() != reflect.String {
		return nil
	}
	return append(TokenClasses(), UnitClasses()...)
}

// entry returns the value with that name, a new one if there is none, and a function that stores it after a change.
func entry(v reflect.Value, name string) (elem reflect.Value, store func()) {
	if providers, ok := v.Addr().Interface().(*[]Provider); ok {
		for i := range *providers {
			if (*providers)[i].Name == name {
				return v.Index(i), func() {}
			}
		}
		*providers = append(*providers, Provider{Name: name})
		return v.Index(v.Len() - 1), func() {}
	}
	if v.IsNil() {
		v.Set(reflect.MakeMap(v.Type()))
	}
	key := reflect.ValueOf(name)
	elem = reflect.New(v.Type().Elem()).Elem()
	if old := v.MapIndex(key); old.IsValid() {
		elem.Set(old)
	}
	return elem, func() { v.SetMapIndex(key, elem) }
}

func (d *decoder) list(v reflect.Value, path string, n ast.Node) {
	seq, ok := n.(*ast.SequenceNode)
	if _, _, one := scalarText(n); one && v.Type() == reflect.TypeFor[Paths]() {
		seq, ok = &ast.SequenceNode{Values: []ast.Node{n}}, true
	}
	if !ok {
		d.reportAt(place(d.file, n.GetToken()), path, "`%s` must be a list such as [one, two]", path)
		return
	}
	d.forget(path)
	out := reflect.MakeSlice(v.Type(), 0, len(seq.Values))
	for i, item := range seq.Values {
		elem, p := reflect.New(v.Type().Elem()).Elem(), index(path, i)
		if _, null := item.(*ast.NullNode); null || item == nil {
			d.report(path, "`%s` is empty", p)
			continue
		}
		d.value(elem, p, item)
		out = reflect.Append(out, elem)
	}
	v.Set(out)
}

func (d *decoder) scalar(v reflect.Value, path string, n ast.Node) {
	at := place(d.file, n.GetToken())
	text, mayRefer, ok := scalarText(n)
	if !ok {
		d.reportAt(at, path, "`%s` must be a single value, not a list or a block of keys", path)
		return
	}
	d.mark(path, at)
	if mayRefer && d.expand != nil && strings.Contains(text, "$") {
		expanded, errs := d.expand(text)
		for _, err := range errs {
			d.reportAt(at, path, "%v", err)
		}
		if errs != nil {
			d.unknown[path] = true
			return
		}
		at.written, text = text, expanded
		d.mark(path, at)
	}
	d.set(v, path, text)
}

// scalarText returns the text of a scalar as written, so that numbers keep all their digits, and whether references are
// replaced in it.
func scalarText(n ast.Node) (text string, mayRefer, ok bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true, true
	case *ast.LiteralNode:
		return n.Value.Value, true, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, false, true
	}
	return "", false, false
}

// pair is a key of a mapping with its value.
type pair struct {
	key   string
	at    origin
	value ast.Node
}

// pairs returns the keys of a mapping, and reports repeated ones.
func (d *decoder) pairs(path string, n ast.Node) []pair {
	m, ok := n.(ast.MapNode)
	if !ok {
		d.reportAt(place(d.file, n.GetToken()), path, "%s", wantKeys(path))
		return nil
	}
	var out []pair
	first := map[string]int{}
	for it := m.MapRange(); it.Next(); {
		key, at := keyText(it.Key()), place(d.file, it.Key().GetToken())
		if line, doubled := first[key]; doubled {
			d.reportAt(at, join(path, key), "key %s appears twice; it is already in line %d", ticks(key), line)
			continue
		}
		first[key] = at.line
		out = append(out, pair{key, at, it.Value()})
	}
	return out
}

func wantKeys(path string) string {
	if path == "" {
		return "the configuration must be keys with values, such as `listen: 127.0.0.1:8080`"
	}
	return fmt.Sprintf("`%s` must be a block of keys", path)
}

func keyText(key ast.MapKeyNode) string {
	if text, _, ok := scalarText(key); ok {
		return text
	}
	if tk := key.GetToken(); tk != nil {
		return tk.Value
	}
	return ""
}
