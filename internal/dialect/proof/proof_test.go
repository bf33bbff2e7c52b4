package proof_test

import (
	"strings"
	"testing"

	"weir/internal/dialect/proof"
	"weir/internal/llm"
	"weir/internal/must"
)

func TestSealedSignatureIsOpened(t *testing.T) {
	t.Parallel()
	for _, want := range []proof.Proof{
		{},
		{Maker: "anthropic", Signature: "c2ln"},
		{Maker: "anthropic", Redacted: "ZW5j"},
		{Maker: "responses", Signature: "rs_1", Redacted: "gAAA.b"},
		{Maker: "gemini", Of: proof.OfCall + "a.b:1", Signature: "QUJD"},
	} {
		sealed := proof.Seal(want)
		got, ok := proof.Open(sealed)
		if !ok || !proof.IsSealed(sealed) {
			t.Errorf("%q is not sealed", sealed)
		}
		must.Equal(t, got, want, "%q", sealed)
		if got, ok = proof.OpenBase64(proof.Base64(sealed)); !ok || got != want {
			t.Errorf("%q in base64: got %+v, want %+v", sealed, got, want)
		}
	}
}

func TestUnsealedTextIsRefused(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"", "EqQB", "weir1.", "weir1.a", "weir1.a.0", "weir1.a.0.0", "weir1.a.x.0.", "weir1.a.0.x.", "weir1.a.-1.0.", "weir1.a.0.-1.",
		"weir1.a.2.0.s", "weir1.a.0.2.s", "weir1.a.1.1.s", "weir1.a.99999999999999999999.0.s", "weir2.a.0.0.",
	} {
		if got, ok := proof.Open(s); ok {
			t.Errorf("%q: got %+v, want none", s, got)
		}
		if got, ok := proof.OpenBase64(proof.Base64(s)); ok {
			t.Errorf("%q in base64: got %+v, want none", s, got)
		}
	}
	if got, ok := proof.OpenBase64("d2VpcjEu*"); ok {
		t.Errorf("invalid base64: got %+v, want none", got)
	}
}

func TestAttachRestoresSignatures(t *testing.T) {
	t.Parallel()
	parts := []llm.Part{
		{Kind: llm.PartText, Text: "a"},
		{Kind: llm.PartToolCall, Call: &llm.ToolCall{ID: "c1"}},
		{Kind: llm.PartText, Text: "b"},
	}
	of := func(of, signature string, behind int) proof.Loose {
		return proof.Loose{Proof: proof.Proof{Maker: "gemini", Of: of, Signature: signature}, Behind: behind}
	}
	proof.Attach(parts, []proof.Loose{
		of(proof.OfText, "s1", 2), of(proof.OfCall+"c1", "s2", 0), of(proof.OfCall+"c9", "s3", 3), of(proof.OfText, "s4", 0), of(proof.OfText, "s5", 9),
	})
	var got []string
	for i := range parts {
		got = append(got, parts[i].Signature)
	}
	if got, want := strings.Join(got, " "), "s1 s2 s5"; got != want {
		t.Errorf("signatures %q, want %q", got, want)
	}
}

func TestStripRemovesSealedMembers(t *testing.T) {
	t.Parallel()
	drop := func(message []byte) []byte {
		return proof.EditMember(message, "content", func(v []byte) []byte {
			if proof.IsSealed(strings.Trim(string(v), `"`)) {
				return nil
			}
			return v
		})
	}
	tests := []struct{ name, body, want string }{
		{"none", `{"messages": [ {"content": ["a"]} ]}`, `{"messages": [ {"content": ["a"]} ]}`},
		{"elsewhere", `{"messages": [ {"content": "weir1.a.0.0."} ]}`, `{"messages": [ {"content": "weir1.a.0.0."} ]}`},
		{"one of two", `{"a": 1, "messages": [{"content": ["weir1.a.0.0.", "b"], "c": 2}]}`, `{"a": 1, "messages": [{"content": ["b"], "c": 2}]}`},
		{"all of a message", `{"messages": [{"content": ["weir1.a.0.0."]},{"content":["b"]}]}`, `{"messages": [{"content":["b"]}]}`},
		{"all of a conversation", `{"messages": [{"content": ["weir1.a.0.0."]}]}`, `{"messages": [{"content": ["weir1.a.0.0."]}]}`},
	}
	for _, tt := range tests {
		if got := string(proof.Strip([]byte(tt.body), "messages", drop)); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}
