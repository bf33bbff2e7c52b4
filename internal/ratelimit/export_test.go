package ratelimit

import (
	"context"
	"strings"
	"time"

	"github.com/valkey-io/valkey-go"
)

// UseServerTime makes the script take the time from two keys in place of the
// server's clock, with other changes.
func (l *Limiter) UseServerTime(changes ...string) {
	l.Alter(append(changes, "redis.call('TIME')", "redis.call('MGET', 'weir:{limits}:now:s', 'weir:{limits}:now:us')")...)
}

// Alter puts other words in the script in place of some, in pairs.
func (l *Limiter) Alter(changes ...string) {
	text := limitsLua
	for i := 0; i < len(changes); i += 2 {
		if !strings.Contains(text, changes[i]) {
			panic("the script does not say " + changes[i])
		}
		text = strings.Replace(text, changes[i], changes[i+1], 1)
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
