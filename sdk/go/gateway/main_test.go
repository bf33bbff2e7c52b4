// Package gateway_test sends requests to a gateway with the vendors' SDKs for Go.
package gateway_test

import (
	"testing"

	"weir/internal/e2e/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
