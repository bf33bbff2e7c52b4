// Package account says who is calling and what they may do: accounts, their
// API keys, and the Principal that a valid key stands for.
//
// A key is checked without a database wherever that is possible: its checksum
// refuses a typo, a cache knows the keys in use, and the store's feed of
// changes tells the cache within a second what any process changed. A key in
// the cache stays good while the database is away.
package account
