package tools_test

import (
	"os"
	"testing"

	"weir/internal/e2e/harness"
)

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		serveByStdio()
		return
	}
	harness.Main(m)
}
