package config

import (
	"reflect"
	"slices"

	"github.com/goccy/go-yaml/ast"
)

// managedFile is the name of the managed configuration in messages.
const managedFile = "managed configuration"

// managed applies the managed configuration. The file takes precedence.
func (l *loader) managed(cfg *Config) {
	body := l.parse(managedFile, l.opts.Managed)
	if body == nil {
		return
	}
	d := decoder{recorder: l.recorder, file: managedFile, expand: l.expand}
	for _, section := range d.pairs("", body) {
		if !slices.Contains(managedSections(), section.key) {
			d.reportAt(section.at, section.key, "%s cannot be managed; set it in the configuration file",
				ticks(section.key))
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

// managedEntries decodes the objects of a section that are not in the file.
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

// isFree reports whether the file does not set a path. Otherwise it adds a warning.
func (l *loader) isFree(path string) bool {
	o, taken := l.origins[path]
	if taken {
		l.warn("%s is set in %s, so the managed configuration of this name has no effect", ticks(path), o.file)
	}
	return !taken
}
