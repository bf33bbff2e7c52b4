// Package hostile_test tests the gateway against malicious clients and providers.
package hostile_test

import (
	"testing"

	"weir/internal/e2e/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
