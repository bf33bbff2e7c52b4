//go:build linux

package hostiletest_test

import (
	"strings"
	"time"
)

const messagesPath = "/v1/messages"

// fairnessAttacks take the processor from others with what is small, or cheap, each by itself.
func fairnessAttacks() []attack {
	return []attack{
		{
			name: "800 clients of one account that have 2,000 messages in 60 KB translated", hostile: denseBodies, lasts: 6 * time.Second,
			held: "what takes long for its length is done in turns, account by account", check: only("200", "529"),
		},
	}
}

// denseBodies are just below 64 KiB, and much work to translate.
func denseBodies(a *attacker) {
	a.key = a.bad[0] // of one account
	const message = `{"role":"user","content":"a"}`
	body := `{"model":"wide/quick","max_tokens":5,"messages":[` + strings.Repeat(message+",", 1999) + message + `]}`
	a.many(long(200, 5), time.Millisecond, func(int) { a.post(messagesPath, strings.NewReader(body)) })
}
