// Package account authenticates callers: it manages accounts, their API keys, and the Principal that represents a valid
// key.
//
// Most keys are checked without the database: the checksum rejects typos, a cache holds the keys in use, and the
// store's feed of changes updates the cache within a second after any process changed a key. Cached keys stay valid
// while the database is unavailable.
package account
