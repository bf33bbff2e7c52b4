package config

import (
	"errors"

	"github.com/goccy/go-yaml"
)

// ParseTree reads an object of YAML of another program, within the bounds of a configuration file. The error is
// Problems.
func ParseTree(file string, src []byte) (map[string]any, error) {
	r := &recorder{origins: map[string]origin{}, unknown: map[string]bool{}}
	tree := map[string]any{}
	if body := r.parse(file, src); body != nil {
		if err := yaml.NodeToValue(body, &tree); err != nil {
			r.reportUnread(file, err)
		}
	}
	if len(r.problems) > 0 {
		r.problems.sort()
		return nil, r.problems
	}
	return tree, nil
}

// reportUnread reports an error of the library, without the lines that it prints: they may hold secrets.
func (r *recorder) reportUnread(file string, err error) {
	at, message := origin{file: file}, "it has values that YAML cannot have there"
	if e, ok := errors.AsType[yaml.Error](err); ok {
		message = e.GetMessage()
		if e.GetToken() != nil {
			at = place(file, e.GetToken())
		}
	}
	r.reportAt(at, "", "cannot be read: %s", message)
}
