package config

import (
	"encoding/json"
	"fmt"

	"weir/internal/managed"
)

// Planned returns a document and options for a plan: a change replaces objects of the file too, which then has them no
// more. Nothing is written. The error is of type Problems, or managed.ErrUnknown for a removed object that is nowhere.
func (f *File) Planned(o Options, before, change Document, remove []managed.Ref, prune bool) (
	Document, Options, error,
) {
	var owned []managed.Ref
	for section, objects := range change {
		for name := range objects {
			if f.Has(section, name) {
				owned = append(owned, managed.Ref{Section: section, Name: name})
			}
		}
	}
	after := before.Clone()
	for _, r := range remove {
		if _, there := after[r.Section][r.Name]; !there && !f.Has(r.Section, r.Name) {
			return nil, o, fmt.Errorf("%s cannot be removed: %w", ticks(pathOf(r.Section, r.Name)), managed.ErrUnknown)
		}
		delete(after[r.Section], r.Name)
		if f.Has(r.Section, r.Name) {
			owned = append(owned, r)
		}
	}
	if len(owned) > 0 {
		var err error
		if o, err = f.release(o, owned); err != nil {
			return nil, o, err
		}
	}
	return after.With(change, prune), o, nil
}

// release returns options that read the file without those objects.
func (f *File) release(o Options, owned []managed.Ref) (Options, error) {
	o = o.withDefaults()
	src, err := o.ReadFile(f.Path)
	if err != nil {
		return o, err
	}
	tree, err := ParseTree(f.Path, src)
	if err != nil {
		return o, err
	}
	for _, r := range owned {
		if isOne(r.Section) {
			delete(tree, r.Section)
		} else if objects, ok := tree[r.Section].(map[string]any); ok {
			delete(objects, r.Name)
		}
	}
	text, err := json.Marshal(tree) // JSON is YAML
	if err != nil {
		return o, err
	}
	read := o.ReadFile
	o.ReadFile = func(path string) ([]byte, error) {
		if path == f.Path {
			return text, nil
		}
		return read(path)
	}
	return o, nil
}
