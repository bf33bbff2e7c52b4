package clienttool_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"weir/internal/dialect/clienttool"
	"weir/internal/llm"
	"weir/internal/worktest"
)

var goodName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$`)

// TestNamesAreUniqueAndStable checks that every tool has a unique name that all vendors accept, that identifies the
// tool, and that is the same in each request.
func TestNamesAreUniqueAndStable(t *testing.T) {
	t.Parallel()
	tools := []llm.ClientTool{
		{Kind: llm.ToolFunction, Namespace: "mcp__tt", Name: "add"},
		{Kind: llm.ToolFunction, Namespace: "mcp__tt__", Name: "add"},
		{Kind: llm.ToolCustom, Namespace: "mcp__tt", Name: "add"},
		{Kind: llm.ToolFunction, Namespace: "mcp", Name: "tt__add"},
		{Kind: llm.ToolFunction, Namespace: "9", Name: "-"},
		{Kind: llm.ToolCustom, Name: "apply_patch"},
		{Kind: llm.ToolApplyPatch, Name: "apply_patch"},
		{Kind: llm.ToolCustom, Name: ""},
		{Kind: llm.ToolCustom, Name: "größe"},
		{Kind: llm.ToolCustom, Name: "gr\u00e4\u00dfe"},
		{Kind: llm.ToolFunction, Namespace: strings.Repeat("n", 64), Name: "a"},
		{Kind: llm.ToolFunction, Namespace: strings.Repeat("n", 64), Name: "b"},
	}
	var first, again clienttool.Names
	seen := map[string]bool{"mcp__tt__add": true, "apply_patch": true}
	for name := range seen {
		first.Keep(name)
		again.Keep(name)
	}
	for _, tool := range tools {
		name := first.Of(tool)
		if !goodName.MatchString(name) || seen[name] {
			t.Errorf("%+v is called %q, want a name of its own", tool, name)
		}
		seen[name] = true
		if got := first.Of(tool); got != name {
			t.Errorf("%+v is called %q, and then %q", tool, name, got)
		}
		if got := again.Of(tool); got != name {
			t.Errorf("%+v is called %q in one request and %q in another", tool, name, got)
		}
		if got, is := first.Called.Of(name); !is || got != tool {
			t.Errorf("%q is the tool %+v, want %+v", name, got, tool)
		}
	}
	if _, is := first.Called.Of("plain"); is {
		t.Error("a plain function is a client's tool")
	}
	if got := (&clienttool.Names{}).Of(llm.ClientTool{Kind: llm.ToolFunction, Namespace: "mcp__tt", Name: "add"}); got != "mcp__tt__add" {
		t.Errorf("an unknown name is %q, want it with its namespace", got)
	}
}

// TestTextIsReadFromArguments checks that a text is read from arguments that models write, for any split of them.
func TestTextIsReadFromArguments(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ arguments, want string }{
		{`{"input":"a\nb"}`, "a\nb"},
		{` { "why" : {"input":["x,\"}"]} , "input" : "a" , "more":1}`, "a"},
		{`{"input":"\ud83d\ude00\u0041\\"}`, "😀A\\"},
		{"{\"input\":\"a\nb\"}", "a\nb"}, // an unescaped line break, which is invalid JSON
		{`{"input":"cut of`, "cut of"},
		{`{"input":"cut in an escape\u00`, "cut in an escape"},
		{"*** Begin Patch\n{}\n", "*** Begin Patch\n{}\n"},
		{`"a text\n"`, "a text\n"},
		{`{"patch":"x"}`, `{"patch":"x"}`},
		{`{"input":7}`, `{"input":7}`},
		{`{"in\u0070ut":"x"}`, `{"in\u0070ut":"x"}`},
		{`{}`, ""},
		{``, ""},
	} {
		for size := 1; size < 40; size++ {
			var r clienttool.Reader
			var got strings.Builder
			rest := tt.arguments
			for len(rest) > 0 {
				n := min(size, len(rest))
				got.WriteString(r.Add(rest[:n]))
				rest = rest[n:]
			}
			got.WriteString(r.End())
			if !strings.ContainsFunc(tt.arguments, func(c rune) bool { return c > 127 }) && got.String() != tt.want {
				t.Fatalf("%q in pieces of %d is %q, want %q", tt.arguments, size, got.String(), tt.want)
			}
		}
	}
}

// TestTextOfArguments checks that any text is read, next to any other members.
func TestTextOfArguments(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		if got := clienttool.Text(clienttool.Arguments(text)); got != text {
			t.Fatalf("got %q, want %q", got, text)
		}
		other, err := json.Marshal(rapid.MapOf(rapid.StringMatching(`[a-h"\\]{1,8}`), rapid.String()).Draw(t, "beside"))
		if err != nil {
			t.Fatal(err)
		}
		whole, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		arguments := fmt.Sprintf(`{"beside":%s,"input":%s}`, other, whole)
		var r clienttool.Reader
		var got strings.Builder
		for _, c := range arguments {
			got.WriteString(r.Add(string(c)))
		}
		if got.WriteString(r.End()); got.String() != text {
			t.Fatalf("%s in characters is %q, want %q", arguments, got.String(), text)
		}
	})
}

// TestGrammarIsInDescription checks that the model receives the grammar of its input.
func TestGrammarIsInDescription(t *testing.T) {
	t.Parallel()
	tool := clienttool.TextTool("f", "Edits.", clienttool.Grammar{Syntax: "lark", Definition: "start: /x/"})
	if want := "Edits.\n\nThe input must match this grammar (lark):\nstart: /x/"; tool.Description != want {
		t.Errorf("described as %q, want %q", tool.Description, want)
	}
}

// FuzzText checks that arguments of any bytes need linear work, and have the same text in pieces.
func FuzzText(f *testing.F) {
	for _, s := range []string{`{"input":"a\u00e9"}`, `{"a":[{"b":"\""}],"input":"x"}`, "plain", `"x`, `{`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, arguments string) {
		arguments = strings.ToValidUTF8(arguments, "?")
		want := clienttool.Text(arguments)
		worktest.Check(t, []byte(arguments), func(b []byte) {
			var r clienttool.Reader
			var got strings.Builder
			for _, c := range string(b) {
				got.WriteString(r.Add(string(c)))
			}
			if got.WriteString(r.End()); string(b) == arguments && got.String() != want {
				t.Errorf("%q in characters is %q, want %q", arguments, got.String(), want)
			}
		})
	})
}
