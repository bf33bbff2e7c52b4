// Package budget_test checks budgets and limits against the spending of accounts.
package budget_test

import (
	"testing"

	"weir/internal/e2e/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
