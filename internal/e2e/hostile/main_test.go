// Package hostile_test holds the gateway against clients and providers that mean harm.
package hostile_test

import (
	"testing"

	"weir/internal/e2e/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
