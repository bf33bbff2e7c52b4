// Package llm defines the types that all other packages share: operations, requests, replies, stream events, token
// usage, prices, money and errors.
//
// It does no input or output and imports only the standard library. A property that two or more wire formats share
// has a field here. A property of only one wire format travels as raw JSON in an Extra field, so that nothing is
// lost.
package llm
