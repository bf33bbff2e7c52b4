// Package ratelimit holds requests to what their key, their account and the
// whole installation may ask for: requests in any 60 seconds, tokens in any 60
// seconds, and requests at a time.
//
// A Limiter asks all levels in one step: what one of them refuses takes nothing
// of the others. It counts in one-second buckets, each until the last event in
// it is certainly older than 60 seconds, so that no 60 seconds ever see more
// than the limit, and all of the limit can be used at once.
//
// The counters are in memory, or on Valkey or Redis, where many nodes share
// them. While that is away each node decides from its own memory, by its share
// of each limit. Each node also records there what it admits otherwise, so that
// it knows, then and for a window after, what it has given already.
package ratelimit
