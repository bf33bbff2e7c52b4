package ratelimit

import (
	"context"
	"strings"
	"time"

	"github.com/valkey-io/valkey-go"
)

// UseServerTime makes the script take the time from two keys in place of the
// server's clock.
func (l *Limiter) UseServerTime() {
	text := strings.Replace(limitsLua, "redis.call('TIME')", "redis.call('MGET', 'weir:{limits}:now:s', 'weir:{limits}:now:us')", 1)
	if text == limitsLua {
		panic("the script does not ask for the time as it did")
	}
	l.remote.lua = valkey.NewLuaScript(text)
}

// Tell tells Valkey all that waits to be told.
func (l *Limiter) Tell() {
	for l.remote != nil && l.remote.outbox.len() > 0 && l.remote.tell(context.Background()) {
		continue
	}
}

// Renew says which slots are held.
func (l *Limiter) Renew() { l.remote.renew(context.Background()) }

// Unsure says whether this node asks its own memory beside Valkey.
func (l *Limiter) Unsure() bool {
	_, unsure := l.remote.breaker.state(l.elapsed())
	return unsure
}

// SweepAt is how many windows may be kept of which none is in use.
const SweepAt = sweepAt * shardCount

// Elapse is the time that Limiter counts in.
func (l *Limiter) Elapse() time.Duration { return l.elapsed() }
