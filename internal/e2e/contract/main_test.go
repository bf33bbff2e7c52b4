// Package contract_test compares answers with their documents: the OpenAPI documents of the gateway and of OpenAI.
package contract_test

import (
	"testing"

	"weir/internal/e2e/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
