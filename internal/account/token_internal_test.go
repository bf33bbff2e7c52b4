package account

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"weir/internal/worktest"
)

func TestTokensAreWellFormed(t *testing.T) {
	t.Parallel()
	pattern := regexp.MustCompile("^" + TokenPattern + "$")
	seen := map[string]bool{}
	for range 1000 {
		token := newToken().Reveal()
		if !pattern.MatchString(token) || !wellFormed(token) || seen[token] {
			t.Fatalf("got %q: matches %v, well formed %v, seen %v", token, pattern.MatchString(token), wellFormed(token), seen[token])
		}
		seen[token] = true
	}
}

func TestChecksumIsCRC32(t *testing.T) {
	t.Parallel()
	// The CRC-32 (IEEE) of "123456789" is 0xCBF43926, which is 3421780262:
	// in base 62 with the digits 0-9, A-Z, a-z it is 3jZRME.
	for body, want := range map[string]string{"123456789": "3jZRME", "": "000000"} {
		if got := checksum(body); got != want {
			t.Errorf("checksum(%q): got %q, want %q", body, got, want)
		}
	}
}

func TestTyposAreNotWellFormed(t *testing.T) {
	t.Parallel()
	token := newToken().Reveal()
	for i := range token {
		for _, c := range base62 + "_- \x00é" {
			typo := token[:i] + string(c) + token[i+1:]
			if typo != token && wellFormed(typo) {
				t.Errorf("%q with %q at %d: got well formed, want not", token, c, i)
			}
		}
	}
	for _, bad := range []string{"", "wk_", token[1:], token + "0", strings.ToUpper(token), token[:48], "xk_" + token[3:]} {
		if wellFormed(bad) {
			t.Errorf("%q: got well formed, want not", bad)
		}
	}
}

// TestRandomText finds digits that occur more often than others: with 124,000 draws, each of the 62 is expected 2,000
// times, give or take 44.
func TestRandomText(t *testing.T) {
	t.Parallel()
	const each = 2000
	count := map[rune]int{}
	for _, c := range randomText(len(base62) * each) {
		count[c]++
	}
	for _, c := range base62 {
		if n := count[c]; n < each-300 || n > each+300 {
			t.Errorf("digit %q: got %d times, want about %d", c, n, each)
		}
	}
}

func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	c := &cache{}
	p := &Principal{account: &Account{}, key: &Key{}}
	for i := range 3 * shardKnown {
		h := Hash{7, byte(i), byte(i >> 8)} // all in one shard
		c.put(&h, 0, p)
		c.putUnknown(&h, 0, p.account.Created, nil)
	}
	if s := &c.shards[7]; len(s.known) != shardKnown || len(s.unknown) != shardUnknown {
		t.Errorf("got %d known and %d unknown, want %d and %d", len(s.known), len(s.unknown), shardKnown, shardUnknown)
	}
}

// TestCacheForgets inserts a look-up that began before a change.
func TestCacheForgets(t *testing.T) {
	t.Parallel()
	c, h := &cache{}, Hash{1}
	p := &Principal{account: &Account{ID: "acc_1"}, key: &Key{ID: "key_1"}}
	before := c.generation.Load()
	c.forgetIDs(map[string]bool{"key_1": true})
	if c.put(&h, before, p); c.get(&h) != nil {
		t.Error("a look-up that began before the change is cached")
	}
	if c.put(&h, c.generation.Load(), p); c.get(&h) != p {
		t.Error("a look-up that began after the change is not cached")
	}
	c.forgetIDs(map[string]bool{"key_2": true, "acc_2": true})
	if c.get(&h) != p {
		t.Error("another key's change made this one forgotten")
	}
	if c.forgetIDs(map[string]bool{"acc_1": true}); c.get(&h) != nil {
		t.Error("the account's change did not make its key forgotten")
	}
}

// FuzzToken checks that a header without the form of a key is never accepted as one.
func FuzzToken(f *testing.F) {
	for _, value := range []string{"Bearer " + newToken().Reveal(), "bearer  x ", "Basic eDp5", "Bearer wk_", newToken().Reveal()} {
		f.Add(value)
	}
	pattern := regexp.MustCompile("^" + TokenPattern + "$")
	f.Fuzz(func(t *testing.T, value string) {
		worktest.Check(t, []byte(value), func(value []byte) { _, _ = Token(http.Header{"Authorization": {string(value)}}) })
		token, err := Token(http.Header{"Authorization": {value}})
		if (err != nil) != (token == "" && value != "") || wellFormed(token) && !pattern.MatchString(token) {
			t.Errorf("%q: got %q and %v, want no key", value, token, err)
		}
	})
}
