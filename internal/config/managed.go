package config

import (
	"reflect"
	"slices"

	"github.com/goccy/go-yaml/ast"
)

// managedFile is what messages call configuration that is not in a file.
const managedFile = "managed configuration"

// managed reads what is managed in the database. What the file has is the file's.
func (l *loader) managed(cfg *Config) {
	body := l.parse(managedFile, l.opts.Managed)
	if body == nil {
		return
	}
	d := decoder{recorder: l.recorder, file: managedFile, expand: l.expand}
	for _, section := range d.pairs("", body) {
		if !slices.Contains(managedSections(), section.key) {
			d.reportAt(section.at, section.key, "%s cannot be managed", ticks(section.key))
			continue
		}
		field := fieldByKey(reflect.ValueOf(cfg).Elem(), section.key)
		if isOne(section.key) {
			if l.isFree(section.key) {
				d.mark(section.key, section.at)
				d.value(field, section.key, section.value)
			}
			continue
		}
		d.managedEntries(l, field, section)
	}
}

// managedEntries reads the objects of a section that are not the file's.
func (d *decoder) managedEntries(l *loader, v reflect.Value, section pair) {
	var rest []*ast.MappingValueNode
	m, ok := section.value.(ast.MapNode)
	if !ok {
		d.reportAt(section.at, section.key, "%s", wantKeys(section.key))
		return
	}
	for it := m.MapRange(); it.Next(); {
		if l.isFree(join(section.key, keyText(it.Key()))) {
			rest = append(rest, it.KeyValue())
		}
	}
	d.mark(section.key, section.at)
	d.entries(v, section.key, ast.Mapping(section.value.GetToken(), false, rest...))
}

// isFree reports whether the file leaves something to be managed; else a warning says so.
func (l *loader) isFree(path string) bool {
	o, taken := l.origins[path]
	if taken {
		l.warn("%s is in %s, so what is managed under this name is not in force", ticks(path), o.file)
	}
	return !taken
}
