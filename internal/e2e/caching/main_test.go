// Package caching_test measures how much of agents' sessions providers read from their prompt caches.
package caching_test

import (
	"testing"

	"weir/internal/e2e/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
