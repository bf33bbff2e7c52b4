package dashboard

import (
	"strconv"
	"testing"

	"weir/internal/account"
	"weir/internal/people"
)

// TestKeysShown shows the newest keys of many, in each view, and their number.
func TestKeysShown(t *testing.T) {
	t.Parallel()
	var keys []account.Key
	for i := range 2*mostKeys + 10 {
		k := account.Key{ID: strconv.Itoa(i), Label: strconv.Itoa(i)}
		if i%2 == 1 {
			k.Revoked = &testTime
		}
		keys = append(keys, k)
	}
	for past, newest := range map[bool]string{false: "208", true: "209"} {
		p := keysPageOf(visitOf(people.Owner), keys, past, testTime)
		const shown = "100 of 105 API keys, newest first. The API and weir keys list show all."
		if len(p.Keys) != mostKeys || p.Keys[0].Label != newest || p.Shown != shown {
			t.Errorf("past %v: got %d keys, the first %q, shown %q", past, len(p.Keys), p.Keys[0].Label, p.Shown)
		}
	}
	if p := keysPageOf(visitOf(people.Owner), keys[:10], false, testTime); p.Shown != "" {
		t.Errorf("few keys: got %q, want no note", p.Shown)
	}
}
