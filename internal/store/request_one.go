package store

import (
	"context"
	"database/sql"
	"errors"

	"github.com/google/uuid"

	"weir/internal/report"
)

// errNoRequest means that the request does not exist.
var errNoRequest = errors.New("the request does not exist")

// Request returns a request of an account with all its attempts, their prices and the calculation of their cost;
// false if the account has no such request, or retention has deleted it.
//
// If the account has a price list, it contains the charge in place of the cost: see report.Attempt.HideCost.
func (s *Reports) Request(ctx context.Context, account string, id uuid.UUID) (d report.RequestDetail, there bool,
	err error,
) {
	d, there, err = s.RequestAtCost(ctx, account, id)
	for i := range d.Parts {
		d.Parts[i].HideCost()
	}
	return d, there, err
}

// RequestAtCost returns a request for operators: attempts have their cost, and the account's terms in addition.
func (s *Reports) RequestAtCost(ctx context.Context, account string, id uuid.UUID) (d report.RequestDetail, there bool,
	err error,
) {
	err = s.report(ctx, account, "read request "+id.String(), func(tx *sql.Tx) (err error) {
		d, err = readRequest(ctx, tx, account, id)
		return err
	})
	if errors.Is(err, errNoRequest) {
		return d, false, nil
	}
	return d, err == nil, err
}

// AccountOf returns the account of a request; false if no account has it, or retention has deleted it.
func (s *Reports) AccountOf(ctx context.Context, id uuid.UUID) (account string, there bool, err error) {
	err = s.report(ctx, "", "find request "+id.String(), func(tx *sql.Tx) error {
		list, err := findRequest(ctx, tx, id)
		if there = len(list) > 0; there {
			account = list[0].Account
		}
		return err
	})
	return account, there, err
}

func readRequest(ctx context.Context, tx *sql.Tx, account string, id uuid.UUID) (d report.RequestDetail, err error) {
	rows, err := findRequest(ctx, tx, id)
	if err != nil {
		return d, err
	}
	if len(rows) == 0 || rows[0].Account != account {
		return d, errNoRequest
	}
	corrections, err := correctionsOfRows(ctx, tx, rows)
	if err != nil {
		return d, err
	}
	d.Parts = attemptsOf(rows, corrections)
	book := priceBook{}
	for i := range d.Parts {
		a := &d.Parts[i]
		// Without its price, the cost cannot be explained.
		if err := book.fillAll(ctx, tx, &a.Attempt); err != nil && !errors.Is(err, errNoPrice) {
			return d, err
		}
		a.Explain()
	}
	d.Request = report.Summarize(d.Parts)
	return d, nil
}
