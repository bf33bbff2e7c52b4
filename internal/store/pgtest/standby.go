package pgtest

import (
	"context"
	"errors"
)

// Standby makes and starts a server that follows this one by streaming replication. It answers queries and refuses
// writes until it is promoted.
func (s *Server) Standby() (*Server, error) {
	follower, err := newServer()
	if err != nil {
		return nil, err
	}
	err = follower.run("pg_basebackup", "-D", follower.data(), "-R", "--checkpoint=fast", "--no-sync", "-d",
		s.plainURL("postgres"))
	if err == nil {
		err = follower.Up()
	}
	if err != nil {
		return nil, errors.Join(err, follower.Close())
	}
	return follower, nil
}

// Promote promotes a standby to a server that accepts writes, and waits for it.
func (s *Server) Promote(ctx context.Context) error {
	return s.Exec(ctx, "postgres", "SELECT pg_promote()")
}
