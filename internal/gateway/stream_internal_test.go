package gateway

import (
	"testing"
	"time"
)

// TestCommentsTellOfGoneClients holds that two comments go out within 10 s of silence: proxies such as HAProxy and Apache
// tell of a client that has left at the second write.
func TestCommentsTellOfGoneClients(t *testing.T) {
	t.Parallel()
	const writes, most = 2, 10 * time.Second
	if got := writes * (Timing{}).withDefaults().KeepAlive; got > most {
		t.Errorf("%d comments take %s of silence, want at most %s", writes, got, most)
	}
}
