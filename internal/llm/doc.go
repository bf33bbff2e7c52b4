// Package llm is the vocabulary that every other package speaks: operations,
// requests, replies, stream events, token usage, prices, money and errors.
//
// It does no input or output and imports the standard library alone. What two
// or more wire formats share has a field here; what only one of them knows
// travels as raw JSON in an Extra field, so that nothing is lost on the way.
package llm
