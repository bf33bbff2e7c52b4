package contentlog_test

import (
	"os"
	"testing"

	"weir/internal/worktest"
)

func TestMain(m *testing.M) {
	worktest.Begin(8)
	os.Exit(m.Run())
}
