package gateway

import (
	"testing"
	"time"
)

// TestCommentsRevealDisconnectedClients checks that two comments are sent within 10 s of silence: proxies such as
// HAProxy and Apache report a disconnected client at the second write.
func TestCommentsRevealDisconnectedClients(t *testing.T) {
	t.Parallel()
	const writes, most = 2, 10 * time.Second
	if got := writes * (Timing{}).withDefaults().KeepAlive; got > most {
		t.Errorf("%d comments take %s of silence, want at most %s", writes, got, most)
	}
}
