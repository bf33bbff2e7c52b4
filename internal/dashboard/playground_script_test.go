package dashboard_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"weir/internal/must"
)

// TestPlaygroundTakesNoIndex sends the playground's script pieces of tool calls with hostile indexes: none makes it
// large, and none reaches a prototype.
func TestPlaygroundTakesNoIndex(t *testing.T) {
	t.Parallel()
	node, err := exec.LookPath("node")
	if err != nil && os.Getenv("WEIR_TEST_REQUIRE") != "all" {
		t.Skip("node is not installed")
	}
	must.Do(t, err)
	script := string(must.Get(os.ReadFile("assets/playground.js"))(t))
	from, to := strings.Index(script, "// mostCalls bounds"), strings.Index(script, "// next is what")
	if from < 0 {
		from = strings.Index(script, "// called adds")
	}
	const checks = `
const wrong = [];
for (const index of ["__proto__", "constructor", "length", 1e7, 4294967296, -1, 0.5, NaN, {}, [], true, "0"]) {
  const calls = new Map();
  try {
    called(calls, [{ index, id: "x", function: { name: "f", arguments: "{}" } }]);
    wrong.push(JSON.stringify(index) + " was taken");
  } catch (error) {
    if (!/index of a tool call/.test(error.message)) wrong.push(JSON.stringify(index) + ": " + error.message);
  }
  if (calls.size || [].id !== undefined || ({}).id !== undefined) wrong.push(JSON.stringify(index) + " left something");
}
const calls = new Map();
called(calls, [{ index: 1, id: "b", function: { name: "g", arguments: "{" } }, { id: "a" }, null, { index: 1, function: { arguments: "}" } }]);
called(calls, "text");
const made = JSON.stringify([...calls]);
const want = '[[1,{"id":"b","type":"function","function":{"name":"g","arguments":"{}"}}],[0,{"id":"a","type":"function","function":{"name":"","arguments":""}}]]';
if (made !== want) wrong.push("got " + made + ", want " + want);
console.log(wrong.join("\n"));
`
	out, err := exec.CommandContext(t.Context(), node, "-e", script[from:to]+checks).CombinedOutput()
	if text := strings.TrimSpace(string(out)); err != nil || text != "" {
		t.Errorf("got %v, %s", err, text)
	}
}
