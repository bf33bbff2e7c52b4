package quote

import "testing"

func TestAsksHourCache(t *testing.T) {
	for body, want := range map[string]bool{
		`{"system":[{"text":"a","cache_control":{"type":"ephemeral","ttl":"1h"}}]}`:            true,
		`{"system":[{"text":"a"},{"cachePoint":{"type":"default","ttl":"1h"}}]}`:               true,
		`{"system":[{"text":"a","cache_control":{"type":"ephemeral","ttl":"1\u0068"}}]}`:       true,
		`{"system":[{"text":"a","cache\u005fcontrol":{"type":"ephemeral","t\u0074l":"1h"}}]}`:  true,
		`{"system":[{"text":"a","cache_control":{"type":"ephemeral","ttl":"5m"}}]}`:            false,
		`{"system":[{"text":"caf\u00e9 \u003cb\u003e","cache_control":{"type":"ephemeral"}}]}`: false,
		`{"system":[{"text":"in code: \\u0041","cache_control":{"type":"ephemeral"}}]}`:        false,
		`{"system":[{"text":"1h"}]}`: false,
		`\u00`:                       false,
	} {
		if got := asksHourCache([]byte(body)); got != want {
			t.Errorf("%s: got %t, want %t", body, got, want)
		}
	}
}
