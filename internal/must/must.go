// Package must ends a test whose preparation fails.
package must

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
