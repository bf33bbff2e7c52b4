package tool

import (
	"context"
	"sync"
)

// Status says whether a tool may be called.
type Status string

// The statuses.
const (
	Allowed Status = "allowed"
	Hidden  Status = "hidden" // the server's patterns do not allow it
	Held    Status = "held"   // its definition has changed, and nobody has approved it
)

// Known is a tool of a server, for operators.
type Known struct {
	Server, Tool string
	Name         string // as clients know it
	Definition   []byte // JSON
	Status       Status
}

// Known returns the tools of a server, or of all if its name is empty, also those that nobody may call. Servers that
// cannot be reached have none.
func (s *Service) Known(ctx context.Context, server string) (all []Known) {
	for i, entries := range s.readAll(ctx) {
		of := s.current.Load().sources[i]
		if server != "" && of.Name != server {
			continue
		}
		for j := range entries {
			all = append(all, of.known(&entries[j]))
		}
	}
	return all
}

func (s *source) known(e *entry) Known {
	k := Known{
		Server: s.Name, Tool: e.tool.Name, Name: e.prefixed.Name, Definition: e.tool.Definition, Status: Allowed,
	}
	switch {
	case !matches(s.Tools, e.tool.Name):
		k.Status = Hidden
	case e.held:
		k.Status = Held
	}
	return k
}

// readAll returns the tools of all servers, which it reads at the same time if it does not have them.
func (s *Service) readAll(ctx context.Context) [][]entry {
	sources := s.current.Load().sources
	all := make([][]entry, len(sources))
	var waiting sync.WaitGroup
	for i, of := range sources {
		waiting.Go(func() { all[i] = of.list(ctx, &s.o) })
	}
	waiting.Wait()
	return all
}

// Conditions describes the servers, by name, after it has read their tools.
func (s *Service) Conditions(ctx context.Context) (all []Condition) {
	s.readAll(ctx)
	for _, of := range s.current.Load().sources {
		all = append(all, of.condition())
	}
	return all
}
