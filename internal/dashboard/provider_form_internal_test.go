package dashboard

import "testing"

// TestTypedKeysAreNotShown checks that only typed admin keys are left out.
func TestTypedKeysAreNotShown(t *testing.T) {
	t.Parallel()
	const key = "sk-admin-canary"
	for more, want := range map[string]string{
		"admin_key: " + key + "\nretries: many":                         "admin_key:\nretries: many",
		"retries: 1\r\n \"admin_key\" : '" + key + "'\r":                "retries: 1\r\n \"admin_key\" :",
		"admin_key: \"sealed:0123:cdef\"":                               "admin_key: \"sealed:0123:cdef\"",
		"admin_key: ${OPENAI_ADMIN_KEY}":                                "admin_key: ${OPENAI_ADMIN_KEY}",
		"retries: 1\ntimeouts: {first_byte: 5s}\nadmin_keys_are: other": "retries: 1\ntimeouts: {first_byte: 5s}\nadmin_keys_are: other",
	} {
		if got := withoutKeys(more); got != want {
			t.Errorf("%q: got %q, want %q", more, got, want)
		}
	}
}
