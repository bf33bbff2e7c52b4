// Package clienttool has the tools that clients run and some wire formats have words of their own for, as
// functions, which all have: their names, their schemas, and a text in place of arguments.
package clienttool

import (
	"fmt"
	"hash/fnv"
	"strings"

	"weir/internal/llm"
)

// maxName is the longest name of a function that all vendors take, in bytes.
const maxName = 64

// Names gives the tools of a request names as functions: the same tools get the same names, so that no node has to
// remember them.
type Names struct {
	plain  map[string]bool // functions
	given  map[llm.ClientTool]string
	Called llm.Called // by the names that were given
}

// Keep takes the name of a plain function, which stays as it is. Plain functions come first.
func (n *Names) Keep(name string) {
	if n.plain == nil {
		n.plain = map[string]bool{}
	}
	n.plain[name] = true
}

// Of is the name of the function that stands for a tool: 1 to 64 of A-Z, a-z, 0-9, _ and -, and no other's.
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

// joined is the name of a tool behind that of its namespace.
func joined(t llm.ClientTool) string {
	namespace := cleaned(t.Namespace)
	if namespace != "" && !strings.HasSuffix(namespace, "__") {
		namespace += "__"
	}
	name := namespace + cleaned(t.Name)
	if name != "" && (name[0] == '-' || '0' <= name[0] && name[0] <= '9') { // Gemini wants a letter or an underscore
		name = "_" + name
	}
	return name
}

// salted is the name of a tool with its hash.
func salted(t llm.ClientTool, salt int) string {
	h := fnv.New32a()
	fmt.Fprintf(h, "%q %q %q %d", t.Kind, t.Namespace, t.Name, salt)
	hash := fmt.Sprintf("_%08x", h.Sum32())
	name := joined(t)
	return name[:min(len(name), maxName-len(hash))] + hash
}

// cleaned is the name with an underscore for each character that not all vendors take.
func cleaned(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, name)
}
