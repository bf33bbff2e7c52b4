// Package gateway implements the pipeline of a request: authenticate, read, scan, route, open in the ledger, forward,
// relay, settle. All wire formats use this pipeline; package dialect describes their differences.
package gateway
