package callid_test

import (
	"testing"

	"weir/internal/dialect/callid"
	"weir/internal/llm"
	"weir/internal/must"
)

// TestNamesAreTheClients checks that calls have the client's names of tools, whole and streamed.
func TestNamesAreTheClients(t *testing.T) {
	t.Parallel()
	names := map[string]string{"short_0a": "a.long.name"}
	n := callid.NewNamer([16]byte{15: 1}, "p", nil, names)
	reply := llm.Reply{Choices: []llm.Choice{{Message: llm.Message{Parts: []llm.Part{
		{Call: &llm.ToolCall{ID: "call_aX9kQ", Name: "short_0a"}}, {Call: &llm.ToolCall{ID: "call_bX9kQ", Name: "other"}},
	}}}}}
	n.Reply(&reply)
	parts := reply.Choices[0].Message.Parts
	must.Equal(t, parts[0].Call.Name+" "+parts[1].Call.Name, "a.long.name other", "names of a whole answer")
	e := llm.Event{Kind: llm.EventToolCall}
	e.Tool.ID, e.Tool.Name = "call_cX9kQ", "short_0a"
	n.Event(&e)
	must.Equal(t, e.Tool.Name, "a.long.name", "name in a stream")
}
