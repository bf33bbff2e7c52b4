// Package admin_test tests administration, sign-in, webhooks, and the life of a gateway from its first start.
package admin_test

import (
	"testing"

	"weir/internal/e2e/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
