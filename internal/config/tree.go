package config

import (
	"fmt"

	"github.com/goccy/go-yaml"
)

// ParseTree reads an object of YAML of another program, within the bounds of a configuration file. The error is
// Problems.
func ParseTree(file string, src []byte) (map[string]any, error) {
	r := &recorder{origins: map[string]origin{}, unknown: map[string]bool{}}
	tree := map[string]any{}
	if body := r.parse(file, src); body != nil {
		if err := yaml.NodeToValue(body, &tree); err != nil {
			r.reportAt(origin{file: file}, "", "cannot be read: %s", fmt.Sprint(err))
		}
	}
	if len(r.problems) > 0 {
		r.problems.sort()
		return nil, r.problems
	}
	return tree, nil
}
