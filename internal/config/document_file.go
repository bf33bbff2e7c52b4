package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"weir/internal/managed"
)

// File holds the managed sections of the configuration file. Its objects can be changed only in the file.
type File struct {
	Path     string // empty if there is no file
	Document Document
	places   map[string]origin // of the objects, by path
}

// FileDocument reads the configuration file. The error is of type Problems, or the error of reading it.
func FileDocument(o Options) (File, error) {
	o = o.withDefaults()
	path, named := o.path()
	src, err := o.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && !named {
		return File{Document: Document{}}, nil
	}
	if err != nil {
		return File{}, err
	}
	f := File{Path: path}
	f.Document, f.places, err = parseDocument(path, src, func(*recorder, pair) {})
	return f, err
}

// Has reports whether an object is in the file.
func (f *File) Has(section, name string) bool {
	_, there := f.Document[section][name]
	return there
}

// Line returns the line of an object in the file, from 1; 0 for an object that is not in the file.
func (f *File) Line(section, name string) int { return f.places[pathOf(section, name)].line }

// owned returns the problem that an object is in the file.
func (f *File) owned(section, name string) Problem {
	path := pathOf(section, name)
	at := f.places[path]
	return Problem{
		File: f.Path, Line: at.line, Column: at.column, Path: path,
		Message: fmt.Sprintf("%s is set in this file: change it there", ticks(path)),
	}
}

// Without returns the objects of a change that the file does not have. Objects with the same value in the file are left
// out; for different values it returns Problems.
func (f *File) Without(change Document) (Document, error) {
	rest, problems := Document{}, Problems(nil)
	for section, objects := range change {
		for name, value := range objects {
			own, there := f.Document[section][name]
			switch {
			case !there:
				rest.put(section, name, value)
			case !same(own, value):
				problems = append(problems, f.owned(section, name))
			}
		}
	}
	if len(problems) > 0 {
		problems.sort()
		return nil, problems
	}
	return rest, nil
}

// Remove removes objects from a document. The error is of type Problems, for objects in the file, or
// managed.ErrUnknown.
func (f *File) Remove(d Document, refs []managed.Ref) (Document, error) {
	next, problems := d.Clone(), Problems(nil)
	for _, r := range refs {
		_, there := next[r.Section][r.Name]
		switch {
		case there:
			delete(next[r.Section], r.Name)
		case f.Has(r.Section, r.Name):
			problems = append(problems, f.owned(r.Section, r.Name))
		default:
			return nil, fmt.Errorf("%s cannot be removed: %w", ticks(pathOf(r.Section, r.Name)), managed.ErrUnknown)
		}
	}
	if len(problems) > 0 {
		problems.sort()
		return nil, problems
	}
	return next, nil
}

// variablesOf returns the environment variables that set a part of an object, sorted.
func variablesOf(origins map[string]origin, path string) []string {
	found := map[string]bool{}
	for p, o := range origins {
		inside := strings.HasPrefix(p, path) && (len(p) == len(path) || p[len(path)] == '.' || p[len(path)] == '[')
		if inside && strings.HasPrefix(o.file, prefix) {
			found[o.file] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// Objects returns all objects that can be managed, with the source of each: the file, the managed configuration or the
// environment. Secrets are hidden. An object in both the file and the managed configuration is reported as the file's.
func Objects(o Options, doc Document) (all []managed.Object, err error) {
	file, err := FileDocument(o)
	if err != nil {
		return nil, err
	}
	if o.Managed, err = doc.JSON(); err != nil {
		return nil, err
	}
	cfg, err := Load(o)
	if err != nil {
		return nil, err
	}
	inForce, _, err := parseDocument("", cfg.Redacted(), func(*recorder, pair) {})
	if err != nil {
		return nil, err
	}
	shown, fromFile := doc.Hidden(), file.Document.Hidden()
	for _, section := range managedSections() {
		for _, name := range slices.Sorted(maps.Keys(inForce[section])) {
			one := managed.Object{
				Section: section, Name: name, Path: pathOf(section, name), Value: inForce[section][name],
				Variables: variablesOf(cfg.origins, pathOf(section, name)),
			}
			managedValue, isManaged := shown[section][name]
			switch {
			case file.Has(section, name):
				one.Source, one.Value = managed.FromFile, fromFile[section][name]
				one.File, one.Line = file.Path, file.Line(section, name)
			case isManaged:
				one.Source, one.Value = managed.FromManaged, managedValue
			case len(one.Variables) > 0:
				one.Source = managed.FromEnvironment
			default:
				one.Source = managed.FromDefault
			}
			all = append(all, one)
		}
	}
	return all, nil
}

// CheckRef checks the name of an object. The error is managed.ErrUnknown.
func CheckRef(r managed.Ref) error {
	if !slices.Contains(managedSections(), r.Section) {
		return fmt.Errorf("%s cannot be managed%s: %w", ticks(r.Section), suggest(r.Section, managedSections()),
			managed.ErrUnknown)
	}
	if isOne(r.Section) != (r.Name == "") {
		return fmt.Errorf("%s has no object %q: limits, cors and retention have one object without a name, "+
			"the other sections have named objects: %w", r.Section, clip(r.Name, maxQuote), managed.ErrUnknown)
	}
	return nil
}

// DocumentOf returns a document with one object, given as YAML or JSON. The error is of type Problems.
func DocumentOf(ref managed.Ref, file string, value []byte) (Document, error) {
	r := &recorder{origins: map[string]origin{}, unknown: map[string]bool{}}
	doc, d := Document{}, decoder{recorder: r, file: file}
	if body := r.parse(file, value); body != nil {
		d.object(doc, ref.Section, pair{ref.Name, origin{file: file, line: 1, column: 1}, body})
	}
	if len(r.problems) > 0 {
		r.problems.sort()
		return nil, r.problems
	}
	return doc, nil
}
