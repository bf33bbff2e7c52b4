package webhook_test

import (
	"testing"

	"go.uber.org/goleak"

	"weir/internal/worktest"
)

func TestMain(m *testing.M) {
	worktest.Begin(8)
	goleak.VerifyTestMain(m)
}
