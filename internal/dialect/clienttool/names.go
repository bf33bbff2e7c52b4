// Package clienttool converts tools that clients run, and that only some wire formats know, to functions, which all
// formats have: it creates their names, their schemas, and their arguments from a text.
package clienttool

import (
	"fmt"
	"hash/fnv"
	"strings"

	"weir/internal/llm"
)

// maxName is the longest name of a function that all vendors accept, in bytes.
const maxName = 64

// Names assigns names of functions to the tools of a request. Equal tools get equal names, so that nodes need not
// store them.
type Names struct {
	plain  map[string]bool // names of functions
	given  map[llm.ClientTool]string
	Called llm.Called // the tools by assigned name
}

// Keep reserves the name of a plain function. Plain functions must be added first.
func (n *Names) Keep(name string) {
	if n.plain == nil {
		n.plain = map[string]bool{}
	}
	n.plain[name] = true
}

// Of returns the unique name of the function that stands for a tool: 1 to 64 of A-Z, a-z, 0-9, _ and -.
func (n *Names) Of(t llm.ClientTool) string {
	if name, is := n.given[t]; is {
		return name
	}
	if n.given == nil {
		n.given = map[llm.ClientTool]string{}
	}
	name := joined(t)
	for salt := 0; name == "" || len(name) > maxName || n.isTaken(name); salt++ {
		name = salted(t, salt)
	}
	n.given[t] = name
	n.Called.Add(name, t)
	return name
}

func (n *Names) isTaken(name string) bool {
	_, is := n.Called.Of(name)
	return is || n.plain[name]
}

// joined returns the name of a tool after the name of its namespace.
func joined(t llm.ClientTool) string {
	namespace := cleaned(t.Namespace)
	if namespace != "" && !strings.HasSuffix(namespace, "__") {
		namespace += "__"
	}
	name := namespace + cleaned(t.Name)
	if name != "" && (name[0] == '-' || '0' <= name[0] && name[0] <= '9') { // Gemini requires a letter or an underscore
		name = "_" + name
	}
	return name
}

// salted returns the name of a tool with a hash.
func salted(t llm.ClientTool, salt int) string {
	h := fnv.New32a()
	fmt.Fprintf(h, "%q %q %q %d", t.Kind, t.Namespace, t.Name, salt)
	hash := fmt.Sprintf("_%08x", h.Sum32())
	name := joined(t)
	return name[:min(len(name), maxName-len(hash))] + hash
}

// cleaned replaces each character that some vendor refuses by an underscore.
func cleaned(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, name)
}
