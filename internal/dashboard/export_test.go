package dashboard

import "time"

// LookOften makes live tails check their watchers' rights at this interval.
func (s *Server) LookOften(every time.Duration) { s.tails.alive = every }
