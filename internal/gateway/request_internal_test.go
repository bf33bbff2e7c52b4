package gateway

import (
	"reflect"
	"testing"
)

// TestRequestFitsItsMemory bounds the memory of a request, of which a held stream needs one: Go rounds more than 6,912
// bytes up to 8,192.
func TestRequestFitsItsMemory(t *testing.T) {
	t.Parallel()
	if size := reflect.TypeFor[request]().Size(); size > 6912 {
		t.Errorf("got %d bytes, want at most 6,912", size)
	}
}
