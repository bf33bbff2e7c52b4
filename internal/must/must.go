// Package must ends a test whose preparation fails, and compares what it got.
package must

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Test is a *testing.T, a *testing.B, or one of a property.
type Test interface {
	Helper()
	Fatal(args ...any)
}

// Do ends the test where there is an error.
func Do(t Test, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Get is the value of a call, as in must.Get(os.ReadFile(path))(t), which ends the test where
// the call gives an error, too.
func Get[T any](value T, err error) func(Test) T {
	return func(t Test) T {
		t.Helper()
		Do(t, err)
		return value
	}
}

// Equal tells how got differs from want, and of what; the test goes on.
func Equal(t testing.TB, got, want any, what string, args ...any) {
	t.Helper()
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("%s (-got +want):\n%s", fmt.Sprintf(what, args...), diff)
	}
}
