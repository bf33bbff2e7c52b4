// Package ledger is the meter. It records each attempt exactly once, at the right price, even if the process dies at
// any point.
//
// An attempt is one request to one provider. It is opened in the journal before the first byte goes to the provider,
// and settled in the journal before the last byte goes to the client. The projector copies the durable part of the
// journal into the database. It stores the journal position in the same transaction, so each record is applied once. At
// the next start, an attempt that a dead process left open is settled as unknown, at the upper bound of its cost.
package ledger
