// Package budget_test holds budgets and limits to what accounts spend.
package budget_test

import (
	"testing"

	"weir/internal/e2e/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
