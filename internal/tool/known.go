package tool

import (
	"context"
	"sync"

	"weir/internal/account"
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
	for _, entries := range s.readAll(ctx, server) {
		for j := range entries {
			of := entries[j].prefixed.source
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

// readAll returns the tools of a server, or of all if its name is empty. It reads those that it does not have, at the
// same time.
func (s *Service) readAll(ctx context.Context, server string) [][]entry {
	sources := s.current.Load().sources
	all := make([][]entry, len(sources))
	var waiting sync.WaitGroup
	for i, of := range sources {
		if server == "" || of.Name == server {
			waiting.Go(func() { all[i] = of.list(ctx, &s.o) })
		}
	}
	waiting.Wait()
	return all
}

// Silent returns the names of the caller's servers that have not listed their tools yet, because they do not answer.
func Silent(s *Service, who *account.Principal) (names []string) {
	for _, of := range s.current.Load().sources {
		if c := of.condition(); c.Problem != "" && !c.Read && admits(of.Accounts, who) {
			names = append(names, of.Name)
		}
	}
	return names
}

// Conditions describes the servers, by name, after it has read their tools.
func (s *Service) Conditions(ctx context.Context) (all []Condition) {
	s.readAll(ctx, "")
	for _, of := range s.current.Load().sources {
		all = append(all, of.condition())
	}
	return all
}

// Condition describes a server after it has read its tools; the zero value if there is no such server.
func (s *Service) Condition(ctx context.Context, server string) Condition {
	s.readAll(ctx, server)
	if of := s.current.Load().source(server); of != nil {
		return of.condition()
	}
	return Condition{}
}

// Latest describes the servers as of their last lists. It asks nobody.
func (s *Service) Latest() (all []Condition) {
	for _, of := range s.current.Load().sources {
		all = append(all, of.condition())
	}
	return all
}
