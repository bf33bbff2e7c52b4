// Package gateway is the pipeline of one request: authenticate, read, scan,
// route, open in the ledger, forward, relay, settle. Every wire format goes
// through this one pipeline; what differs between them is in package dialect.
package gateway
