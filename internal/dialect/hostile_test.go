//go:build unix

package dialect_test

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"weir/internal/dialect"
	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/worktest"
)

// repeated describes a body in which one element can occur any number of times.
type repeated struct {
	dialect, what string
	before, one   string // one may have a %d
	after         string
}

func (r *repeated) body(size int) []byte {
	var b strings.Builder
	b.WriteString(r.before)
	for i := 0; b.Len() < size; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		if strings.Contains(r.one, "%d") {
			fmt.Fprintf(&b, r.one, i)
		} else {
			b.WriteString(r.one)
		}
	}
	b.WriteString(r.after)
	return []byte(b.String())
}

// repeats lists the fields of each wire format that can repeat.
func repeats() []repeated {
	const (
		user = `{"role":"user","content":`
		hi   = user + `"Hi"}`
	)
	in := func(d, what, before, one, after string) repeated { return repeated{d, what, before, one, after} }
	chat := func(d, what, before, one, after string) repeated {
		return in(d, what, `{"model":"a/m","max_tokens":9,"messages":[`+before, one, after+`]}`)
	}
	list := []repeated{
		chat("openai", "messages", "", hi, ""),
		chat("openai", "text parts", user+"[", `{"type":"text","text":"a"}`, "]}"),
		chat("openai", "images", user+"[", `{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}`, "]}"),
		chat("openai", "parts of no known type", user+"[", `{"type":"x"}`, "]}"),
		chat("openai", "thinking", `{"role":"assistant","content":[{"type":"thinking","thinking":[`, `{"text":"abcdefgh"}`, "]}]}"),
		chat("openai", "thinking parts", `{"role":"assistant","content":[`, `{"type":"thinking","thinking":"abcdefgh"}`, "]}"),
		chat("openai", "refusals", `{"role":"assistant","content":[`, `{"type":"refusal","refusal":"abcdefgh"}`, "]}"),
		chat("openai", "reasoning details", `{"role":"assistant","content":"a","reasoning_details":[`, `{"type":"reasoning.text","text":"abcdefgh"}`, "]}"),
		chat("openai", "reasoning details of nothing", `{"role":"assistant","content":"a","reasoning_details":[`, `0`, "]}"),
		chat("openai", "thinking blocks", `{"role":"assistant","content":"a","thinking_blocks":[`, `{"thinking":"abcdefgh"}`, "]}"),
		chat("openai", "tool calls of nothing", hi+`,{"role":"assistant","tool_calls":[`, "0", "]}"),
		chat("openai", "tool calls", hi+`,{"role":"assistant","tool_calls":[`, `{"id":"c%d","function":{"name":"f","arguments":"{}"}}`, "]}"),
		chat("openai", "results", hi, `{"role":"tool","tool_call_id":"c%d","content":"a"}`, ""),
		chat("openai", "images of an assistant", hi+`,{"role":"assistant","content":"a","images":[`, `{"image_url":{"url":"data:image/png;base64,AAAA"}}`, "]}"),
		chat("openai", "members of a message", hi+`,{"role":"user","content":"a",`, `"m%d":0`, "}"),
		chat("openai", "members of a part", user+`[{"type":"text","text":"a",`, `"m%d":0`, "}]}"),
		in("openai", "members", `{"model":"a/m","messages":[`+hi+`],`, `"m%d":0`, "}"),
		in("openai", "tools", `{"model":"a/m","messages":[`+hi+`],"tools":[`, `{"type":"function","function":{"name":"f%d"}}`, "]}"),
		in("openai", "functions", `{"model":"a/m","messages":[`+hi+`],"functions":[`, `{"name":"f%d"}`, "]}"),
		in("openai", "custom tools", `{"model":"a/m","messages":[`+hi+`],"tools":[`, `{"type":"custom","custom":{"name":"f%d"}}`, "]}"),
		chat("openai", "custom calls", hi+`,{"role":"assistant","tool_calls":[`, `{"id":"c%d","type":"custom","custom":{"name":"f%[1]d","input":"a"}}`, "]}"),
		in("openai", "stop", `{"model":"a/m","messages":[`+hi+`],"stop":[`, `"a"`, "]}"),

		chat("anthropic", "messages", "", hi, ""),
		chat("anthropic", "text blocks", user+"[", `{"type":"text","text":"a"}`, "]}"),
		chat("anthropic", "thinking blocks", `{"role":"assistant","content":[`, `{"type":"thinking","thinking":"abcdefgh","signature":"s"}`, "]}"),
		chat("anthropic", "tool uses", hi+`,{"role":"assistant","content":[`, `{"type":"tool_use","id":"c%d","name":"f","input":{}}`, "]}"),
		chat("anthropic", "results", user+"[", `{"type":"tool_result","tool_use_id":"c%d","content":"a"}`, "]}"),
		chat("anthropic", "references to tools", user+`[{"type":"tool_result","tool_use_id":"c","content":[`, `{"type":"tool_reference","tool_name":"f%d"}`, "]}]}"),
		in("anthropic", "deferred tools", `{"model":"a/m","max_tokens":9,"messages":[`+hi+`],"tools":[`, `{"name":"f%d","input_schema":{},"defer_loading":true}`, "]}"),
		chat("anthropic", "parts of a result", user+`[{"type":"tool_result","tool_use_id":"c","content":[`, `{"type":"text","text":"a"}`, "]}]}"),
		in("anthropic", "system blocks", `{"model":"a/m","max_tokens":9,"messages":[`+hi+`],"system":[`, `{"type":"text","text":"a"}`, "]}"),
		in("anthropic", "tools", `{"model":"a/m","max_tokens":9,"messages":[`+hi+`],"tools":[`, `{"name":"f%d","input_schema":{}}`, "]}"),
		chat("anthropic", "documents", user+"[", `{"type":"document","title":"t","context":"c","citations":{"enabled":true},"source":{"type":"text","data":"a"}}`, "]}"),
		chat("anthropic", "documents of little", user+"[", `{"type":"document","context":"","source":{"type":"url"}}`, "]}"),
		chat("anthropic", "results of searches", user+"[", `{"type":"search_result","citations":{"enabled":true},"content":"a"}`, "]}"),
		chat("anthropic", "chunks", user+`[{"type":"document","citations":{"enabled":true},"source":{"type":"content","content":[`, `{"type":"text"}`, "]}}]}"),
		chat("anthropic", "citations", hi+`,{"role":"assistant","content":[{"type":"text","text":"a","citations":[`, `{"type":"char_location","document_index":0}`, "]}]}"),
		in("anthropic", "stop sequences", `{"model":"a/m","max_tokens":9,"messages":[`+hi+`],"stop_sequences":[`, `"a"`, "]}"),

		in("responses", "items", `{"model":"a/m","input":[`, hi, "]}"),
		in("responses", "parts", `{"model":"a/m","input":[`+user+"[", `{"type":"input_text","text":"a"}`, "]}]}"),
		in("responses", "calls", `{"model":"a/m","input":[`, `{"type":"function_call","call_id":"c%d","name":"f","arguments":"{}"}`, "]}"),
		in("responses", "results", `{"model":"a/m","input":[`, `{"type":"function_call_output","call_id":"c%d","output":"a"}`, "]}"),
		in("responses", "summaries", `{"model":"a/m","input":[{"type":"reasoning","id":"r","summary":[`, `{"type":"summary_text","text":"abcdefgh"}`, "]}]}"),
		in("responses", "reasoning items", `{"model":"a/m","input":[`, `{"type":"reasoning","id":"r%d","summary":[]}`, "]}"),
		in("responses", "tools", `{"model":"a/m","input":"Hi","tools":[`, `{"type":"function","name":"f%d","parameters":{}}`, "]}"),

		in("responses", "custom tools", `{"model":"a/m","input":"Hi","tools":[`, `{"type":"custom","name":"f%d"}`, "]}"),
		in("responses", "namespaces", `{"model":"a/m","input":"Hi","tools":[`, `{"type":"namespace","name":"n%d","tools":[{"type":"function","name":"f"}]}`, "]}"),
		in("responses", "functions of a namespace", `{"model":"a/m","input":"Hi","tools":[{"type":"namespace","name":"n","tools":[`, `{"type":"function","name":"f%d"}`, "]}]}"),
		in("responses", "tools in an item", `{"model":"a/m","input":[{"type":"additional_tools","tools":[`, `{"type":"function","name":"f%d"}`, "]}]}"),
		in("responses", "items with tools", `{"model":"a/m","input":[`, `{"type":"additional_tools","tools":[{"type":"custom","name":"f%d"}]}`, "]}"),
		in("responses", "custom calls", `{"model":"a/m","input":[`, `{"type":"custom_tool_call","call_id":"c%d","name":"f%[1]d","input":"a"}`, "]}"),
		in("responses", "calls of namespaces", `{"model":"a/m","input":[`, `{"type":"function_call","call_id":"c%d","namespace":"n%[1]d","name":"f","arguments":"{}"}`, "]}"),
		in("responses", "results of custom tools", `{"model":"a/m","input":[`, `{"type":"custom_tool_call_output","call_id":"c%d","output":"a"}`, "]}"),
		in("responses", "calls of MCP servers", `{"model":"a/m","input":[`, `{"type":"mcp_call","id":"c%d","server_label":"s","name":"f%[1]d","arguments":"{}","output":"a"}`, "]}"),
		in("responses", "references", `{"model":"a/m","input":[`, `{"type":"web_search_call","id":"c%d"}`, "]}"),

		in("gemini", "contents", `{"contents":[`, `{"role":"user","parts":[{"text":"a"}]}`, "]}"),
		in("gemini", "parts", `{"contents":[{"role":"user","parts":[`, `{"text":"a"}`, "]}]}"),
		in("gemini", "thoughts", `{"contents":[{"role":"model","parts":[`, `{"text":"abcdefgh","thought":true}`, "]}]}"),
		in("gemini", "calls", `{"contents":[{"role":"model","parts":[`, `{"functionCall":{"name":"f","args":{}}}`, "]}]}"),
		in("gemini", "results", `{"contents":[{"role":"user","parts":[`, `{"functionResponse":{"name":"f","response":{}}}`, "]}]}"),
		in("gemini", "declarations", `{"contents":[{"role":"user","parts":[{"text":"a"}]}],"tools":[{"functionDeclarations":[`, `{"name":"f%d"}`, "]}]}"),

		in("bedrock", "messages", `{"messages":[`, `{"role":"user","content":[{"text":"a"}]}`, "]}"),
		in("bedrock", "blocks", `{"messages":[{"role":"user","content":[`, `{"text":"a"}`, "]}]}"),
		in("bedrock", "documents", `{"messages":[{"role":"user","content":[`, `{"document":{"name":"n","source":{"text":"a"},"citations":{"enabled":true}}}`, "]}]}"),
		in("bedrock", "chunks", `{"messages":[{"role":"user","content":[{"document":{"name":"n","source":{"content":[`, `{"text":"a"}`, "]}}}]}]}"),
		in("bedrock", "results of searches", `{"messages":[{"role":"user","content":[`, `{"searchResult":{"content":[{"text":"a"}]}}`, "]}]}"),
		in("bedrock", "reasoning", `{"messages":[{"role":"assistant","content":[`, `{"reasoningContent":{"reasoningText":{"text":"abcdefgh"}}}`, "]}]}"),
		in("bedrock", "calls", `{"messages":[{"role":"assistant","content":[`, `{"toolUse":{"toolUseId":"c%d","name":"f","input":{}}}`, "]}]}"),
		in("bedrock", "tools", `{"messages":[{"role":"user","content":[{"text":"a"}]}],"toolConfig":{"tools":[`, `{"toolSpec":{"name":"f%d","inputSchema":{"json":{}}}}`, "]}}"),

		chat("cohere", "messages", "", hi, ""),
		chat("cohere", "parts", user+"[", `{"type":"text","text":"a"}`, "]}"),
		chat("cohere", "calls", hi+`,{"role":"assistant","tool_calls":[`, `{"id":"c%d","type":"function","function":{"name":"f","arguments":"{}"}}`, "]}"),

		chat("ollama", "messages", "", hi, ""),
		chat("ollama", "images", `{"role":"user","content":"a","images":[`, `"iVBORw0KGgo="`, "]}"),
		chat("ollama", "calls", hi+`,{"role":"assistant","content":"","tool_calls":[`, `{"function":{"name":"f","arguments":{}}}`, "]}"),

		in("toy", "turns", `{"model":"a/m","turns":[`, `{"by":"user","say":"a"}`, "]}"),

		in("native", "messages", `{"model":"a/m","messages":[`, `{"role":"user","prompt":"a"}`, "]}"),
	}
	return list
}

// named returns the wire format of that name.
func named(t testing.TB, name string) *dialect.Dialect {
	if d := every().Named(name); d != nil {
		return d
	}
	t.Fatalf("no dialect %q", name)
	return nil
}

// effort holds the processor time of functions, and the name of the slowest.
type effort struct {
	total, most time.Duration
	slowest     string
}

func (e *effort) add(name string, call func()) {
	began := worktest.ProcessorTime()
	call()
	took := worktest.ProcessorTime() - began
	if e.total += took; took > e.most {
		e.most, e.slowest = took, name
	}
}

// work measures a decoder and each encoder of its result on a body: the minimum of the given number of tries. A
// function that needs longer than tooLong ends the test at once.
func work(t *testing.T, d *dialect.Dialect, body []byte, tries int) effort {
	t.Helper()
	const tooLong = 5 * time.Second // a linear function needs tens of milliseconds on an idle machine
	least := effort{total: math.MaxInt64}
	for range tries {
		runtime.GC()
		var e effort
		var tree *llm.Request
		var err error
		e.add(d.Name+".DecodeRequest", func() { tree, err = d.DecodeRequest(body) })
		if err != nil {
			t.Fatal(err)
		}
		for _, to := range every() {
			if to.EncodeRequest != nil {
				request := *tree
				e.add(to.Name+".EncodeRequest", func() {
					_, _, _ = to.EncodeRequest(&request, &llm.Quirks{}) // some carry it, some refuse it
				})
			}
		}
		if e.most > tooLong {
			t.Fatalf("%s takes %v for %d bytes, want at most %v", e.slowest, e.most, len(body), tooLong)
		}
		if e.total < least.total {
			least = e
		}
	}
	return least
}

// TestDecodersAreLinear checks for each field that can repeat that sixteen times the bytes need at most a hundred times
// the work, in decoding and in encoding to every wire format. Quadratic time would be 256 times. The margin allows for
// other work on the machine.
func TestDecodersAreLinear(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection needs time for all live objects
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(1 << 30))
	const small, times, most = 32 << 10, 16, 100
	for _, r := range repeats() {
		t.Run(r.dialect+"/"+r.what, func(t *testing.T) {
			d := named(t, r.dialect)
			one, many := r.body(small), r.body(times*small)
			var slowest string
			ratio := 0.0
			for _, tries := range []int{1, 3, 3, 3} { // one will do for most
				large := work(t, d, many, tries)
				slowest = large.slowest
				if ratio = float64(large.total) / float64(work(t, d, one, 3).total); ratio <= most {
					return
				}
			}
			t.Errorf("%.1f times the time for %d times the bytes, most of it in %s", ratio, times, slowest)
		})
	}
}

// TestMeasureBoundsTreeMemory checks that a tree needs no more memory than measured before it is built.
func TestMeasureBoundsTreeMemory(t *testing.T) {
	limiter := parse.NewLimiter()
	for _, r := range repeats() {
		t.Run(r.dialect+"/"+r.what, func(t *testing.T) {
			d, body := named(t, r.dialect), r.body(32<<10)
			size, err := limiter.Measure(body)
			if err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			tree, err := d.DecodeRequest(body)
			if err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&after)
			got := int64(after.TotalAlloc - before.TotalAlloc)
			runtime.KeepAlive(tree)
			t.Logf("%d bytes for %d, measured as %d", got, len(body), size)
			if got > size {
				t.Errorf("decoding needed %d bytes, measured as %d", got, size)
			}
		})
	}
}

// TestBoundsMatchCapacityPage compares docs/capacity.md with the bounds.
func TestBoundsMatchCapacityPage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/capacity.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range parse.Bounds() {
		if row := fmt.Sprintf("| %s | %d |\n", b.What, b.Most); !strings.Contains(string(text), row) {
			t.Errorf("no row %q", row)
		}
	}
}
