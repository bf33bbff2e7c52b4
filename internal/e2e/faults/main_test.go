// Package faults_test tests the gateway when providers fail and clients leave.
package faults_test

import (
	"testing"

	"weir/internal/e2e/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
