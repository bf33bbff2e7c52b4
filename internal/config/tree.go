package config

import (
	"errors"

	"github.com/goccy/go-yaml"
)

// ParseTree parses a YAML object of another program, within the limits of a configuration file. The error is of type
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

// reportUnread reports an error of the library without the quoted lines, which may contain secrets.
func (r *recorder) reportUnread(file string, err error) {
	at, message := origin{file: file}, "it has values that are invalid in YAML"
	if e, ok := errors.AsType[yaml.Error](err); ok {
		message = e.GetMessage()
		if e.GetToken() != nil {
			at = place(file, e.GetToken())
		}
	}
	r.reportAt(at, "", "cannot be read: %s", message)
}
