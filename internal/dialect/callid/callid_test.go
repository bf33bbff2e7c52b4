package callid_test

import (
	"regexp"
	"strings"
	"testing"

	"weir/internal/dialect/callid"
	"weir/internal/llm"
)

var valid = regexp.MustCompile(`^[A-Za-z0-9_-]{1,40}$`)

// conversation builds one call and its result in each of some messages.
func conversation(ids ...string) (messages []llm.Message) {
	for _, id := range ids {
		messages = append(
			messages,
			llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{{Kind: llm.PartToolCall, Call: &llm.ToolCall{ID: id, Name: "get-weather"}}}},
			llm.Message{Role: llm.RoleTool, Parts: []llm.Part{{Kind: llm.PartToolResult, Result: &llm.ToolResult{CallID: id}}}},
		)
	}
	return messages
}

// sent returns the ids of calls and results that are sent to a provider.
func sent(messages []llm.Message, provider string) (calls, results []string) {
	messages, _ = callid.History(messages, provider)
	for _, m := range messages {
		for _, p := range m.Parts {
			if p.Call != nil {
				calls = append(calls, p.Call.ID)
			}
			if p.Result != nil {
				results = append(results, p.Result.CallID)
			}
		}
	}
	return calls, results
}

func TestIDsThatRepeatAreMadeUniqueAndLeadBack(t *testing.T) {
	t.Parallel()
	for _, given := range []string{
		"call_0", "functions.get-weather:0", "0", "tool_1", "get-weather", "get-weather_12", "call-7", "x\xff:1", "é:0",
	} {
		var made []string
		for answer := range byte(2) {
			made = append(made, callid.NewNamer([16]byte{15: answer + 1}, "kimi", nil, nil).ID(given, "get-weather", false))
		}
		if made[0] == made[1] || !valid.MatchString(made[0]) || made[0] == given {
			t.Errorf("%q became %q and %q in two answers", given, made[0], made[1])
		}
		calls, results := sent(conversation(made...), "kimi")
		for i := range calls {
			if calls[i] != given || results[i] != given {
				t.Errorf("turn %d of %q: the provider is sent the call %q and the result %q", i, given, calls[i], results[i])
			}
		}
		if calls, _ := sent(conversation(made...), "other"); calls[0] != made[0] || calls[1] != made[1] {
			t.Errorf("%q: another provider is sent %q, want %q", given, calls, made)
		}
	}
}

func TestIDsOfTheProvidersOwnStay(t *testing.T) {
	t.Parallel()
	for _, given := range []string{
		"toolu_01A09q90qw90lq917835lq9", "call_abc", "call_12345678", "bC3dE5fG7", "x7", "chatcmpl-tool-3f2b8c1d9e", "a",
		"call_GPq4lRmXtAyN3KfoMAHD8Jut",
	} {
		if got := callid.NewNamer([16]byte{}, "p", nil, nil).ID(given, "f", false); got != given {
			t.Errorf("%q became %q", given, got)
		}
		if calls, results := sent(conversation(given), "p"); calls[0] != given || results[0] != given {
			t.Errorf("%q is sent as %q and %q", given, calls[0], results[0])
		}
	}
}

func TestIDsAreUniqueInAnAnswer(t *testing.T) {
	t.Parallel()
	n := callid.NewNamer([16]byte{15: 9}, "p", []string{"call_old"}, nil)
	seen := map[string]bool{"call_old": true}
	for i, c := range []struct {
		id     string
		madeUp bool
	}{{"call_same", false}, {"call_same", false}, {"call_old", false}, {"call_0", true}, {"call_0", true}, {"call_0", false}} {
		got := n.ID(c.id, "f", c.madeUp)
		if seen[got] || !valid.MatchString(got) {
			t.Errorf("call %d, %q: got %q, which is not new or not valid", i, c.id, got)
		}
		if callid.IsMadeUp(got) != c.madeUp {
			t.Errorf("call %d, %q: IsMadeUp(%q) = %t, want %t", i, c.id, got, !c.madeUp, c.madeUp)
		}
		seen[got] = true
	}
}

// TestEqualIDsOfAHistory checks that calls of older histories with one id get different ids, with their results.
func TestEqualIDsOfAHistory(t *testing.T) {
	t.Parallel()
	calls, results := sent(conversation("call_0", "call_0", "call_0-2", "call_0"), "p")
	seen := map[string]bool{}
	for i, id := range calls {
		if seen[id] || results[i] != id {
			t.Errorf("turn %d: the call %q has the result %q", i, id, results[i])
		}
		seen[id] = true
	}
	parallel := []llm.Message{
		{Role: llm.RoleAssistant, Parts: []llm.Part{
			{Call: &llm.ToolCall{ID: "x", Name: "f"}}, {Call: &llm.ToolCall{ID: "x", Name: "g"}}, {Call: &llm.ToolCall{ID: "y", Name: "h"}},
		}},
		{Role: llm.RoleTool, Parts: []llm.Part{{Result: &llm.ToolResult{CallID: "x"}}, {Result: &llm.ToolResult{CallID: "x"}}, {Result: &llm.ToolResult{}}}},
	}
	calls, results = sent(parallel, "p")
	if got := strings.Join(append(calls, results...), " "); got != "x x-2 y x x-2 y" {
		t.Errorf("parallel calls of one id: got %s", got)
	}
}

// FuzzLeadsBack checks that every id of a provider stays unique and is restored, or becomes one of the gateway's own.
func FuzzLeadsBack(f *testing.F) {
	for _, id := range []string{"call_0", "functions.f:0", "-n", "--", "", "call_w0123456789_0_aa-zz"} {
		f.Add(id, "f", uint8(3))
	}
	f.Fuzz(func(t *testing.T, id, name string, request uint8) {
		n := callid.NewNamer([16]byte{15: request}, "p", []string{id}, nil)
		made, again := n.ID(id, name, false), n.ID(id, name, false)
		if made == id || made == again || !valid.MatchString(made) {
			t.Fatalf("%q became %q and %q", id, made, again)
		}
		messages := conversation(made)
		messages[0].Parts[0].Call.Name = name
		calls, results := sent(messages, "p")
		if calls[0] != results[0] || calls[0] != id && calls[0] != made {
			t.Fatalf("%q, made %q: the provider is sent %q and %q", id, made, calls[0], results[0])
		}
	})
}
