// Package tools_test lists and calls tools of MCP servers through the gateway.
package tools_test

import (
	"testing"

	"weir/internal/e2e/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
