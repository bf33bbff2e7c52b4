// Package chat_test tests the answers of each client API, and the gateway's own TLS.
package chat_test

import (
	"testing"

	"go.uber.org/goleak"

	"weir/internal/e2e/harness"
)

func TestMain(m *testing.M) {
	// The ACME server of TestACME has no end.
	harness.Main(m, goleak.IgnoreTopFunction("github.com/letsencrypt/pebble/v2/va.VAImpl.processTasks"))
}
