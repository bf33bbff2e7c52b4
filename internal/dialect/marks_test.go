package dialect_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"weir/internal/dialect/rules"
	"weir/internal/llm"
)

// The places of a mark of a prompt cache, in the order in which vendors read a request.
const (
	onTool      = "tool"
	onSystem    = "system"
	onText      = "text"
	onAssistant = "assistant"
	onResult    = "result"
	onWhole     = "whole"
)

// markForm is one way of a wire format to write marks.
type markForm struct {
	name, format string
	short, long  string // the mark without a lifetime, and with one of an hour; empty for none
	body         string // with @place for each mark
}

// marks lists the marks of all clients: https://platform.claude.com/docs/en/build-with-claude/prompt-caching,
// https://openrouter.ai/docs/features/prompt-caching, https://developers.openai.com/api/docs/guides/prompt-caching,
// https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html (copies of 2026, read 2026-11-29). Google's
// cachedContent is a stored prompt and no mark: fields_test.go has it.
var marks = []markForm{
	{
		name: "cache_control of Messages", format: "anthropic",
		short: `,"cache_control":{"type":"ephemeral"}`, long: `,"cache_control":{"type":"ephemeral","ttl":"1h"}`,
		body: `{"max_tokens":9@whole,"tools":[{"name":"f","input_schema":{"type":"object"}@tool}],"system":[{"type":"text","text":"S"@system}],"messages":[` +
			`{"role":"user","content":[{"type":"text","text":"T"@text}]},` +
			`{"role":"assistant","content":[{"type":"text","text":"A"@assistant},{"type":"tool_use","id":"toolu_1","name":"f","input":{}}]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"R"}]@result}]}]}`,
	},
	{
		name: "cache_control of a router's Chat Completions", format: "openai",
		short: `,"cache_control":{"type":"ephemeral"}`, long: `,"cache_control":{"type":"ephemeral","ttl":"1h"}`,
		body: `{"n":1@whole,"tools":[{"type":"function","function":{"name":"f"}@tool}],"messages":[{"role":"system","content":[{"type":"text","text":"S"@system}]},` +
			`{"role":"user","content":[{"type":"text","text":"T"@text}]},` +
			`{"role":"assistant","content":[{"type":"text","text":"A"@assistant}],"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},` +
			`{"role":"tool","tool_call_id":"c1","content":[{"type":"text","text":"R"@result}]}]}`,
	},
	{
		name: "prompt_cache_breakpoint of Chat Completions", format: "openai",
		short: `,"prompt_cache_breakpoint":{"mode":"explicit"}`,
		body: `{"tools":[{"type":"function","function":{"name":"f"}}],"messages":[{"role":"system","content":[{"type":"text","text":"S"@system}]},` +
			`{"role":"user","content":[{"type":"text","text":"T"@text}]},` +
			`{"role":"assistant","content":[{"type":"text","text":"A"@assistant}],"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},` +
			`{"role":"tool","tool_call_id":"c1","content":[{"type":"text","text":"R"@result}]}]}`,
	},
	{
		name: "prompt_cache_breakpoint of Responses", format: "responses",
		short: `,"prompt_cache_breakpoint":{"mode":"explicit"}`,
		body: `{"tools":[{"type":"function","name":"f"}],"input":[{"role":"system","content":[{"type":"input_text","text":"S"@system}]},` +
			`{"role":"user","content":[{"type":"input_text","text":"T"@text}]},{"role":"assistant","content":"A"},` +
			`{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"},` +
			`{"type":"function_call_output","call_id":"c1","output":[{"type":"input_text","text":"R"@result}]}]}`,
	},
	{
		name: "cachePoint of Converse", format: "bedrock",
		short: `,{"cachePoint":{"type":"default"}}`, long: `,{"cachePoint":{"type":"default","ttl":"1h"}}`,
		body: `{"toolConfig":{"tools":[{"toolSpec":{"name":"f","inputSchema":{"json":{"type":"object"}}}}@tool]},"system":[{"text":"S"}@system],"messages":[` +
			`{"role":"user","content":[{"text":"T"}@text]},` +
			`{"role":"assistant","content":[{"text":"A"}@assistant,{"toolUse":{"toolUseId":"t1","name":"f","input":{}}}]},` +
			`{"role":"user","content":[{"toolResult":{"toolUseId":"t1","content":[{"text":"R"}]}}@result]}]}`,
	},
}

// markTarget is a provider with the form of its marks at each place; no form at a place means that it is dropped.
type markTarget struct {
	name, format, model string
	quirks              llm.Quirks
	form                string
	not                 []string // places without marks
	noTTL               bool     // the lifetime is fixed
}

var markTargets = []markTarget{
	{name: "Anthropic", format: "anthropic", model: "claude-sonnet-4-5", form: `"cache_control":{"type":"ephemeral"`},
	{name: "Bedrock", format: "bedrock", model: "us.anthropic.claude-sonnet-4-5-v1:0", form: `{"cachePoint":{"type":"default"`},
	{
		name: "OpenRouter", format: "openai", model: "anthropic/claude-sonnet-4.5", form: `"cache_control":{"type":"ephemeral"`,
		quirks: llm.Quirks{Takes: []string{"cache_control", "tools.cache_control"}},
	},
	{
		name: "OpenAI's Chat Completions", format: "openai", model: "gpt-5.6-sol", form: `"prompt_cache_breakpoint":{"mode":"explicit"`,
		quirks: llm.Quirks{CacheBreakpoints: true}, not: []string{onTool}, noTTL: true,
	},
	{
		name: "OpenAI's Responses", format: "responses", model: "gpt-6.2-sol", form: `"prompt_cache_breakpoint":{"mode":"explicit"`,
		quirks: llm.Quirks{CacheBreakpoints: true}, not: []string{onTool, onAssistant}, noTTL: true,
	},
	{name: "an older model of OpenAI's", format: "openai", model: "gpt-5.5", quirks: llm.Quirks{CacheBreakpoints: true}},
	{name: "an older model's Responses", format: "responses", model: "gpt-5.5", quirks: llm.Quirks{CacheBreakpoints: true}},
	{name: "a server of one's own", format: "openai", model: "gpt-5.6-sol"},
	{name: "Gemini", format: "gemini", model: "gemini-3-flash"},
	{name: "Cohere", format: "cohere", model: "command-a-03-2025"},
	{name: "Ollama", format: "ollama", model: "qwen3"},
}

// TestMarksReachOrNameTheirLoss checks the mark of a prompt cache at each place, in each form of a client, at the
// providers of all wire formats: it reaches the same place in the provider's form, or is reported.
func TestMarksReachOrNameTheirLoss(t *testing.T) {
	t.Parallel()
	tried := 0
	for _, from := range marks {
		for _, place := range []string{onTool, onSystem, onText, onAssistant, onResult, onWhole} {
			if !strings.Contains(from.body, "@"+place) {
				continue
			}
			for _, mark := range []string{from.short, from.long} {
				if mark == "" {
					continue
				}
				for i := range markTargets {
					tried++
					markTargets[i].check(t, &from, place, mark)
				}
			}
		}
	}
	if want := 300; tried < want {
		t.Errorf("%d combinations were tried, want at least %d", tried, want)
	}
}

func (to *markTarget) check(t *testing.T, from *markForm, place, mark string) {
	t.Helper()
	with, names := to.encoded(t, from, place, mark)
	without, _ := to.encoded(t, from, place, "")
	what := fmt.Sprintf("%s: %s on %s at %s", from.name, mark, place, to.name)
	isLong, isOwn := strings.Contains(mark, "1h"), from.format == to.format
	if isOwn {
		if got := strings.Count(with, strings.TrimPrefix(mark, ",")); got != 1 || len(names) > 0 {
			t.Errorf("%s: %d marks, dropped %v in %s, want its own once", what, got, names, with)
		}
		return
	}
	carried := to.form != "" && !slices.Contains(to.not, place)
	want := 0
	if carried {
		want = 1
	}
	if got := strings.Count(with, to.form); to.form != "" && got != want {
		t.Errorf("%s: %d marks in %s, want %d", what, got, with, want)
	}
	if hasTTL := strings.Contains(with, `"ttl":"1h"`); hasTTL != (carried && isLong && !to.noTTL) {
		t.Errorf("%s: a lifetime of an hour: %t in %s", what, hasTTL, with)
	}
	if isSame := with == without; isSame != !carried {
		t.Errorf("%s: the request is the same without: %t (%s)", what, isSame, with)
	}
	lost := slices.ContainsFunc(names, func(n string) bool { return n == "cache_control" || n == "prompt_cache_breakpoint" })
	if lost != !carried || slices.Contains(names, "cache_control ttl") != (carried && isLong && to.noTTL) {
		t.Errorf("%s: dropped %v, want it named if lost", what, names)
	}
	if at := strings.Index(with, to.form); carried && place != onTool && !follows(with[:at], place) {
		t.Errorf("%s: the mark is at another place: %s", what, with)
	}
}

// follows reports whether the last text before a mark is that of its place.
func follows(before, place string) bool {
	text := map[string]string{onSystem: `"S"`, onText: `"T"`, onAssistant: `"A"`, onResult: `"R"`, onWhole: `"R"`}[place]
	last := -1
	for _, other := range []string{`"S"`, `"T"`, `"A"`, `"R"`} {
		last = max(last, strings.LastIndex(before, other))
	}
	return last >= 0 && strings.HasPrefix(before[last:], text)
}

// encoded returns the request of a client with a mark at one place, as the provider receives it.
func (to *markTarget) encoded(t *testing.T, from *markForm, place, mark string) (body string, names []string) {
	t.Helper()
	text := strings.ReplaceAll(from.body, "@"+place, mark)
	for _, other := range []string{onTool, onSystem, onText, onAssistant, onResult, onWhole} {
		text = strings.ReplaceAll(text, "@"+other, "")
	}
	d := byName(t, from.format)
	if _, err := d.Scan([]byte(text), arrived(d)); err != nil {
		t.Fatalf("scan %s: %v", text, err)
	}
	r, err := d.DecodeRequest([]byte(text))
	if err != nil {
		t.Fatalf("decode %s: %v", text, err)
	}
	r.Model = to.model
	out, names, err := byName(t, to.format).EncodeRequest(r, &to.quirks)
	if err != nil {
		t.Fatalf("%s at %s: %v", from.name, to.name, err)
	}
	return string(out), names
}

// TestMarksAreFitted checks the most marks of a request and the order of their lifetimes at vendors that refuse
// others: which marks are kept, and that the loss is reported.
func TestMarksAreFitted(t *testing.T) {
	t.Parallel()
	const short, long = `,"cache_control":{"type":"ephemeral"}`, `,"cache_control":{"type":"ephemeral","ttl":"1h"}`
	text := func(name, mark string) string { return fmt.Sprintf(`{"type":"text","text":%q%s}`, name, mark) }
	say := func(role string, parts ...string) string {
		return fmt.Sprintf(`{"role":%q,"content":[%s]}`, role, strings.Join(parts, ","))
	}
	many := `{"messages":[` + strings.Join([]string{
		say("system", text("s1", short), text("s2", short)), say("user", text("u1", short)), say("assistant", text("a1", short)),
		say("user", text("u2", short)), say("assistant", text("a2", short)), say("user", text("u3", short)),
	}, ",") + `]}`
	late := `{"messages":[` + say("system", text("s1", long)) + "," + say("user", text("u1", short), text("u2", long)) + `]}`
	for _, c := range []struct {
		provider, format, model, body string
		kept                          []string // texts with a mark
		hours                         int      // marks of an hour
		lost                          string
	}{
		{"anthropic", "anthropic", "claude-opus-4-8", many, []string{"s2", "u2", "a2", "u3"}, 0, "cache_control"},
		{"bedrock", "bedrock", "us.anthropic.claude-opus-4-8-v1:0", many, []string{"s2", "u2", "a2", "u3"}, 0, "cache_control"},
		{"anthropic", "anthropic", "claude-opus-4-8", late, []string{"s1", "u1", "u2"}, 1, "cache_control ttl"},
		{"bedrock", "bedrock", "us.anthropic.claude-opus-4-8-v1:0", late, []string{"s1", "u1", "u2"}, 1, "cache_control ttl"},
		{"bedrock", "bedrock", "us.meta.llama4-maverick-17b-instruct-v1:0", late, nil, 0, "cache_control"},
		{"bedrock", "bedrock", "amazon.nova-pro-v1:0", late, []string{"s1", "u1", "u2"}, 0, "cache_control ttl"},
		{"bedrock", "bedrock", "us.anthropic.claude-sonnet-4-6", late, []string{"s1", "u1", "u2"}, 0, "cache_control ttl"},
		{"bedrock", "bedrock", "arn:aws:bedrock:us-east-1:1:application-inference-profile/x", many, []string{"s2", "u2", "a2", "u3"}, 0, "cache_control"},
	} {
		r, err := byName(t, "openai").DecodeRequest([]byte(c.body))
		if err != nil {
			t.Fatal(err)
		}
		r.Model = c.model
		fitted, _, err := rules.For(c.provider, c.format).Fit(r, false)
		if err != nil {
			t.Fatal(err)
		}
		body, names, err := byName(t, c.format).EncodeRequest(fitted, nil)
		if err != nil {
			t.Fatal(err)
		}
		var kept []string
		for _, name := range []string{"s1", "s2", "u1", "a1", "u2", "a2", "u3"} {
			at := `"` + name + `","cache_control"`
			if c.format == "bedrock" {
				at = `{"text":"` + name + `"},{"cachePoint"`
			}
			if strings.Contains(string(body), at) {
				kept = append(kept, name)
			}
		}
		if hours := strings.Count(string(body), `"1h"`); !slices.Equal(kept, c.kept) || hours != c.hours || !slices.Contains(names, c.lost) {
			t.Errorf("%s: marks on %v, %d of an hour, dropped %v, want %v, %d, %q (%s)", c.model, kept, hours, names, c.kept, c.hours, c.lost, body)
		}
	}
}

// TestCacheOptionsCross checks the options of OpenAI's prompt cache between its two wire formats: each model gets those
// that it accepts, and a provider that is not known to accept them gets none. All others are reported.
func TestCacheOptionsCross(t *testing.T) {
	t.Parallel()
	const key, options, retention = `"prompt_cache_key":"k"`, `"prompt_cache_options":{"ttl":"30m"}`, `"prompt_cache_retention":"24h"`
	const longer = `"prompt_cache_options":{"ttl":"12h"}`
	known := llm.Quirks{CacheKey: true, CacheBreakpoints: true}
	for _, c := range []struct {
		model   string
		quirks  llm.Quirks
		fields  []string
		carried []string
	}{
		{"gpt-5.6-sol", known, []string{key, options, retention}, []string{key, options}},
		{"gpt-5.5", known, []string{key, options, retention}, []string{key, retention}},
		{"gpt-5.6-sol", known, []string{key, longer}, []string{key}},
		{"gpt-5.6-sol", llm.Quirks{CacheKey: true}, []string{key, options, retention}, []string{key, retention}},
		{"gpt-5.6-sol", llm.Quirks{CacheKey: true, Drop: []string{"prompt_cache_retention"}}, []string{key, retention}, []string{key}},
		{"gpt-5.6-sol", llm.Quirks{}, []string{key, options, retention}, nil},
	} {
		for from, to := range map[string]string{"openai": "responses", "responses": "openai"} {
			body := strings.TrimSuffix(bodies[from], "}") + "," + strings.Join(c.fields, ",") + "}"
			r, err := byName(t, from).DecodeRequest([]byte(body))
			if err != nil {
				t.Fatal(err)
			}
			r.Model = c.model
			out, names, err := byName(t, to).EncodeRequest(r, &c.quirks)
			if err != nil {
				t.Fatal(err)
			}
			for _, field := range c.fields {
				name, _, _ := strings.Cut(strings.Trim(field, `"`), `"`)
				want := slices.Contains(c.carried, field)
				if got := strings.Contains(string(out), field); got != want || slices.Contains(names, name) == want {
					t.Errorf("%s to %s with %+v, %s: carried %t, want %t, dropped %v", from, to, c.quirks, field, got, want, names)
				}
			}
		}
	}
}
