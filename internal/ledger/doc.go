// Package ledger is the meter. What a provider served stands in it exactly
// once, at the right price, whatever dies in between.
//
// An attempt is one call of one provider. It is opened, in the journal, before
// the first byte goes upstream, and settled, in the journal, before the last
// byte goes to the client. The projector copies what the journal made durable
// into the database, the position in the journal in the same transaction, so
// each record is applied once. An attempt that a dead process left open is
// settled as unknown, at the upper bound of what it can have cost, at the next
// start.
package ledger
