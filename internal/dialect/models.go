package dialect

import (
	"net/url"
	"sort"
	"time"
)

// ModelList is how the clients of a wire format ask which models there are.
type ModelList struct {
	// Path is where: a GET of it is for all, one of a name below it for that model.
	Path string
	// Header is one that each request of these clients has, where others ask at
	// the same path; empty where none do.
	Header string
	// List is the part of the models, sorted by name, that a query asks for.
	// Errors are *llm.Error.
	List func(query url.Values, models []Model) ([]byte, error)
	One  func(m *Model) ([]byte, error)
}

// Model is what a list tells of one.
type Model struct {
	Name       string // "<provider>/<model-name>", or an alias
	Context    int64  // tokens; 0 for unknown
	MaxOutput  int64  // tokens; 0 for unknown
	Deprecated bool
	Day        time.Time // of what is known of it; zero for none
}

// ModelsUpTo is how many of the models, sorted by name, have that name or one
// before it.
func ModelsUpTo(sorted []Model, name string) int {
	return sort.Search(len(sorted), func(i int) bool { return sorted[i].Name > name })
}
