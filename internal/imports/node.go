package imports

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Source is the configuration file of another gateway.
type Source struct {
	Plan   *Plan // receives the unimported parts
	Getenv func(name string) (value string, set bool)
	// Reference is the prefix of a text that refers to an environment variable, such as "env.".
	Reference string
}

// Node is an object of the file. It records which members were read, so that the others can be reported.
type Node struct {
	Path   string
	Fields map[string]any
	seen   map[string]bool
	source *Source
}

// Root returns the whole file.
func (s *Source) Root(file map[string]any) Node { return newNode("", file, s) }

func newNode(path string, fields map[string]any, source *Source) Node {
	return Node{Path: path, Fields: fields, seen: map[string]bool{}, source: source}
}

// At returns the path of a member.
func (n *Node) At(key string) string {
	if key == "" {
		key = `""`
	}
	if n.Path == "" {
		return key
	}
	return n.Path + "." + key
}

// Take returns a member unchanged and marks it as read.
func (n *Node) Take(key string) any {
	n.seen[key] = true
	return n.Fields[key]
}

// Has reports whether the member exists.
func (n *Node) Has(key string) bool { return n.Take(key) != nil }

// Object returns a member that is an object; empty if it is not one.
func (n *Node) Object(key string) Node {
	fields, _ := n.Take(key).(map[string]any)
	return newNode(n.At(key), fields, n.source)
}

// List returns the objects of a member that is a list.
func (n *Node) List(key string) []Node {
	items, _ := n.Take(key).([]any)
	list := make([]Node, 0, len(items))
	for i, item := range items {
		if fields, ok := item.(map[string]any); ok {
			list = append(list, newNode(fmt.Sprintf("%s[%d]", n.At(key), i), fields, n.source))
		}
	}
	return list
}

// Texts returns a member that is a text or a list of texts.
func (n *Node) Texts(key string) []string { return textsOf(n.Take(key)) }

func textsOf(v any) (list []string) {
	switch x := v.(type) {
	case string:
		list = append(list, x)
	case []any:
		for _, item := range x {
			if text, ok := item.(string); ok {
				list = append(list, text)
			}
		}
	}
	return list
}

// Text returns a member as text, with an environment variable replaced; empty for none.
func (n *Node) Text(key string) string {
	text, _ := n.Secret(key)
	return text
}

// Secret is like Text, and reports whether there is a value. It records an unset variable.
func (n *Node) Secret(key string) (string, bool) {
	v := n.Take(key)
	if v == nil {
		return "", false
	}
	text := fmt.Sprint(v)
	name, is := strings.CutPrefix(text, n.source.Reference)
	if !is {
		return text, text != ""
	}
	value, set := n.source.Getenv(name)
	if !set || value == "" {
		n.source.Plan.Leave(n.At(key), "the environment variable %s is not set: set it here and on the gateway's "+
			"machine, and import again", name)
		return "", false
	}
	return value, true
}

// Quoted returns a secret in the form of our configuration, where a variable stays a reference. It returns false if
// there is no value; it records an unset variable.
func (n *Node) Quoted(key string) (string, bool) {
	value, ok := n.Secret(key)
	if !ok {
		return "", false
	}
	if name, is := strings.CutPrefix(fmt.Sprint(n.Fields[key]), n.source.Reference); is {
		return "${" + name + "}", true
	}
	return strings.ReplaceAll(value, "$", "$$"), true
}

// Number returns a member that is a number, or a number in a text; 0 for none.
func (n *Node) Number(key string) float64 {
	f, err := strconv.ParseFloat(n.Text(key), 64)
	if err != nil {
		return 0
	}
	return f
}

// Leave records members that are not imported.
func (n *Node) Leave(why string, keys ...string) {
	for _, key := range keys {
		if n.Has(key) {
			n.source.Plan.Leave(n.At(key), "%s", why)
		}
	}
}

// LeaveRest records the members that were not read.
func (n *Node) LeaveRest(why string) {
	for _, key := range slices.Sorted(maps.Keys(n.Fields)) {
		if !n.seen[key] && n.Fields[key] != nil {
			n.source.Plan.Leave(n.At(key), "%s", why)
		}
	}
}
