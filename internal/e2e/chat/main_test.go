// Package chat_test tests the answers of each client API.
package chat_test

import (
	"testing"

	"weir/internal/e2e/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
