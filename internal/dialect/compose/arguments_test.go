package compose_test

import (
	"slices"
	"testing"

	"weir/internal/dialect/compose"
	"weir/internal/llm"
)

// TestObjectsCarriesBrokenArguments checks that each call's arguments are sent as an object, and that the client's
// messages do not change.
func TestObjectsCarriesBrokenArguments(t *testing.T) {
	t.Parallel()
	for arguments, want := range map[string]struct {
		sent  string
		named bool
	}{
		`{"a":1}`:    {`{"a":1}`, false},
		" {\"a\":1}": {" {\"a\":1}", false},
		"":           {"{}", false},
		" \n":        {"{}", false},
		"null":       {"{}", false},
		"[]":         {"{}", false},
		`{"a":`:      {`{"_raw":"{\"a\":"}`, true},
		`"str"`:      {`{"_raw":"\"str\""}`, true},
		`[1]`:        {`{"_raw":"[1]"}`, true},
		`{"a":1}x`:   {`{"_raw":"{\"a\":1}x"}`, true},
	} {
		call := &llm.ToolCall{ID: "c", Name: "f", Arguments: arguments}
		messages := []llm.Message{{Role: llm.RoleUser}, {Parts: []llm.Part{{Kind: llm.PartText}, {Kind: llm.PartToolCall, Call: call}}}}
		w := compose.New("here", &llm.Request{}, nil)
		got := w.Objects(messages)
		_, dropped, _ := w.Close()
		if sent := got[1].Parts[1].Call.Arguments; sent != want.sent || slices.Contains(dropped, "broken tool call arguments") != want.named {
			t.Errorf("%q: got %q and dropped %q, want %+v", arguments, sent, dropped, want)
		}
		if call.Arguments != arguments || messages[1].Parts[1].Call != call {
			t.Errorf("%q: the client's own call was changed to %q", arguments, call.Arguments)
		}
		own := compose.New("here", &llm.Request{ExtraOf: "here"}, nil)
		if got := own.Objects(messages)[1].Parts[1].Call.Arguments; got != arguments {
			t.Errorf("%q in the format's own words: got %q, want it as it is", arguments, got)
		}
	}
}
