package dashboard

import "time"

// LookOften makes live tails look at the right of their watchers so often.
func (s *Server) LookOften(every time.Duration) { s.tails.alive = every }
