package store

import (
	"context"
	"database/sql"

	"weir/internal/people"
	"weir/internal/signin"
)

// PeopleStores returns the stores for people.New.
func (s *DB) PeopleStores() people.Stores {
	return people.Stores{
		Users: s.Users, Access: s.Users, Members: s.Members, Invitations: s.Invitations, Resets: s.Admissions,
		Factors: s.Factors,
	}
}

// SignInStores returns the stores for signin.New.
func (s *DB) SignInStores() signin.Stores {
	return signin.Stores{
		Users: s.Users, Passwords: s.Factors, Sessions: s.Sessions, Admissions: s.Admissions, Throttles: s.Sessions,
		Factors: s.Factors, Logouts: s.Sessions,
	}
}

// writeInTurn runs fn in a transaction. Such transactions run one after the other, so that the data that fn
// reads does not change until it ends.
func (s *conn) writeInTurn(ctx context.Context, doing string, fn func(tx *sql.Tx) error) error {
	return s.write(ctx, s.sure, doing, func(tx *sql.Tx) error {
		if err := s.inTurn(ctx, tx); err != nil {
			return err
		}
		return fn(tx)
	})
}
