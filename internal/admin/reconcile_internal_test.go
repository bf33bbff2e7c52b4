package admin

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"weir/internal/config"
	"weir/internal/must"
	"weir/internal/outbound"
)

// TestReportsOfPrivateAddresses reads reports from an address of this machine, which the provider's requests may use or
// not.
func TestReportsOfPrivateAddresses(t *testing.T) {
	t.Parallel()
	at := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(at.Close)
	for reach, permitted := range map[outbound.Reach]bool{outbound.Public: false, outbound.Anywhere: true} {
		client := must.Get(reportsClient(&config.Outbound{}, reach))(t)
		answer, err := client.Get(at.URL)
		if err == nil {
			answer.Body.Close()
		}
		if permitted != (err == nil) || !permitted && !outbound.Refused(err) {
			t.Errorf("reach %d: got %v", reach, err)
		}
		client.CloseIdleConnections()
	}
}
