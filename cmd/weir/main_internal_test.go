package main

import (
	"errors"
	"testing"

	"weir/internal/llm"
)

// TestMissingObjectNamesItsList checks that the error of a missing object names the command that lists the others, and
// that other errors stay as they are.
func TestMissingObjectNamesItsList(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		`There is no account "a": weir accounts list shows those that exist.`: llm.Errorf(llm.CodeNotFound, "There is no account %q.", "a").At("account"),
		`There is no key "a": weir keys list shows the ids.`:                  llm.Errorf(llm.CodeNotFound, "There is no key %q: weir keys list shows the ids.", "a").At("key"),
		"The account is closed.":                                              llm.Errorf(llm.CodeConflict, "The account is closed.").At("account"),
		"no such file":                                                        errors.New("no such file"),
	} {
		if got := sentenceOf(err); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
