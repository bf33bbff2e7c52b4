package toolserver

import (
	"strconv"
	"testing"
	"time"

	"weir/internal/must"
	"weir/internal/tool"
)

// TestAccountLeavesRoomForSessionsOfOthers subscribes with many keys of one account.
func TestAccountLeavesRoomForSessionsOfOthers(t *testing.T) {
	t.Parallel()
	s := sessions{all: map[sessionKey]*session{}, streams: map[sessionKey]*tool.Subscription{}}
	add := func(account, key, id string) error {
		_, err := s.add(sessionKey{account: account, key: key, id: id}, "doc://readme", time.Now())
		return err
	}
	refused := 0
	for i := range 2 * mostSessions {
		if add("ann", "key_"+strconv.Itoa(i/mostOfKey), strconv.Itoa(i)) != nil {
			refused++
		}
	}
	must.Equal(t, refused, 2*mostSessions-mostOfAccount, "refused sessions of one account")
	must.Do(t, add("bob", "key", "1"))
}
