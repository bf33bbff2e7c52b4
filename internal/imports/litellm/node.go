package litellm

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// node is an object of the file. It notes what was looked at, so that the rest can be told.
type node struct {
	path   string
	fields map[string]any
	seen   map[string]bool
	file   *Import
}

func newNode(path string, fields map[string]any, file *Import) node {
	return node{path: path, fields: fields, seen: map[string]bool{}, file: file}
}

// at is the path of a member.
func (n *node) at(key string) string {
	if key == "" {
		key = `""`
	}
	if n.path == "" {
		return key
	}
	return n.path + "." + key
}

func (n *node) take(key string) any {
	n.seen[key] = true
	return n.fields[key]
}

func (n *node) has(key string) bool { return n.take(key) != nil }

// object is a member that is an object, empty where it is none.
func (n *node) object(key string) node {
	fields, _ := n.take(key).(map[string]any)
	return newNode(n.at(key), fields, n.file)
}

// list are the objects of a member that is a list.
func (n *node) list(key string) []node {
	items, _ := n.take(key).([]any)
	list := make([]node, 0, len(items))
	for i, item := range items {
		if fields, ok := item.(map[string]any); ok {
			list = append(list, newNode(fmt.Sprintf("%s[%d]", n.at(key), i), fields, n.file))
		}
	}
	return list
}

// texts are a member that is a text or a list of texts.
func (n *node) texts(key string) []string { return textsOf(n.take(key)) }

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

// reference is what begins a text that stands for a variable of the environment
// (https://docs.litellm.ai/docs/proxy/configs#load-api-keys--config-values-from-environment, 2026-10-13).
const reference = "os.environ/"

// text is a member as it is written, a variable of the environment replaced; empty for none.
func (n *node) text(key string) string {
	text, _ := n.secret(key)
	return text
}

// secret is text; it reports whether there is one. A variable that is not set is noted.
func (n *node) secret(key string) (string, bool) {
	v := n.take(key)
	if v == nil {
		return "", false
	}
	text := fmt.Sprint(v)
	name, is := strings.CutPrefix(text, reference)
	if !is {
		return text, text != ""
	}
	value, set := n.file.Getenv(name)
	if !set || value == "" {
		n.file.plan.Leave(n.at(key), "the environment variable %s is not set here: set it, here and where the gateway "+
			"runs, and import again", name)
		return "", false
	}
	return value, true
}

// quoted is a secret as the configuration here has it: a variable stays one. False where there is none, or it is not
// set, which is noted.
func (n *node) quoted(key string) (string, bool) {
	value, ok := n.secret(key)
	if !ok {
		return "", false
	}
	if name, is := strings.CutPrefix(fmt.Sprint(n.fields[key]), reference); is {
		return "${" + name + "}", true
	}
	return strings.ReplaceAll(value, "$", "$$"), true
}

// number is a member that is a number, also one that is written as a text; 0 for none.
func (n *node) number(key string) float64 {
	f, err := strconv.ParseFloat(n.text(key), 64)
	if err != nil {
		return 0
	}
	return f
}

// leave notes members of which nothing is taken over.
func (n *node) leave(why string, keys ...string) {
	for _, key := range keys {
		if n.has(key) {
			n.file.plan.Leave(n.at(key), "%s", why)
		}
	}
}

// leaveRest notes the members that nobody looked at.
func (n *node) leaveRest(why string) {
	for _, key := range slices.Sorted(maps.Keys(n.fields)) {
		if !n.seen[key] && n.fields[key] != nil {
			n.file.plan.Leave(n.at(key), "%s", why)
		}
	}
}
