// Package contract_test holds answers to the documents that promise them: the OpenAPI documents of the gateway and of OpenAI.
package contract_test

import (
	"testing"

	"weir/internal/e2e/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
