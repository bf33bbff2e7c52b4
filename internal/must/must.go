// Package must contains test helpers: they end a test when its setup fails, and compare results.
package must

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Test is a *testing.T, a *testing.B, or a property test.
type Test interface {
	Helper()
	Fatal(args ...any)
}

// Do ends the test if err is not nil.
func Do(t Test, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Get returns the value of a call, as in must.Get(os.ReadFile(path))(t), and ends the test if the call returns an
// error.
func Get[T any](value T, err error) func(Test) T {
	return func(t Test) T {
		t.Helper()
		Do(t, err)
		return value
	}
}

// Equal reports the differences between got and want as an error of the test, which continues; what describes the
// values.
func Equal(t testing.TB, got, want any, what string, args ...any) {
	t.Helper()
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("%s (-got +want):\n%s", fmt.Sprintf(what, args...), diff)
	}
}
