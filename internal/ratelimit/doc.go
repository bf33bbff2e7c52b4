// Package ratelimit enforces the rate limits of an API key, its account and the whole installation: requests in any
// 60 seconds, tokens in any 60 seconds, and concurrent requests.
//
// A Limiter checks all levels in one step: if one of them refuses, nothing is taken from the others. It counts in
// one-second buckets. A bucket counts until its last event is certainly older than 60 seconds, so that no 60 seconds
// exceed the limit, and the whole limit can be used at once.
//
// The counters are in memory, or on Valkey or Redis, where nodes share them. During an outage of Valkey, each node
// decides from its own memory, by its share of each limit. Each node also records requests that Valkey admits in its
// memory, so that it knows its recent usage during an outage and for a window after it.
package ratelimit
