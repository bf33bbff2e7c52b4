package meter_test

import (
	"fmt"
	"strings"

	"weir/internal/e2e/harness"
	"weir/internal/rawjson"
)

// agent makes the requests of one session as an agent sends them: the same tools and instructions each time, and a
// history that grows by a call and its result. The forms are those of Claude Code 2.1.332, Codex 0.171.0 and opencode
// 1.18.33, recorded on 2026-11-29: which marks and names each sets, where its instructions are, and about how long they
// and the tools are.
type agent struct {
	name string
	ask  func(s *session, turn int) harness.Ask
}

// session is one conversation with a model.
type session struct{ id, model string }

// Sizes of an agent's request in bytes, and the number of its requests.
const (
	ofInstructions = 12_000
	ofTool         = 2_300
	tools          = 10
	ofResult       = 2_200
	turns          = 20
)

// prose returns a text of n bytes that is its own for each topic.
func prose(topic string, n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "%s, line %d: the agent reads a file, changes it and runs the tests. ", topic, i)
	}
	return b.String()[:n]
}

func quoted(text string) string { return string(rawjson.AppendString(nil, text)) }

// list joins n elements.
func list(n int, element func(i int) string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = element(i)
	}
	return strings.Join(all, ",")
}

const schema = `{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`

var agents = []agent{
	{"Claude Code", claudeCode},
	{"Codex", codex},
	{"opencode", opencode},
}

// claudeCode marks two blocks of its instructions and the last message, has further instructions in a message of the
// system behind the first one, and names its session in a header and in metadata.
func claudeCode(s *session, turn int) harness.Ask {
	const mark = `,"cache_control":{"type":"ephemeral"}`
	tool := func(i int) string {
		return fmt.Sprintf(`{"name":"tool_%d","description":%s,"input_schema":%s}`, i, quoted(prose(fmt.Sprint(s.id, " tool ", i), ofTool)), schema)
	}
	history := func(i int) string {
		last := ""
		if i == turn {
			last = mark
		}
		if i == 0 {
			return fmt.Sprintf(`{"role":"user","content":[{"type":"text","text":"Fix the test."}]},{"role":"system","content":[{"type":"text","text":%s%s}]}`,
				quoted(prose(s.id+" environment", ofInstructions/2)), last)
		}
		return fmt.Sprintf(`{"role":"assistant","content":[{"type":"text","text":"Step %d"},{"type":"tool_use","id":"toolu_%d","name":"tool_1","input":{"path":"f%d"}}]},`+
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%d","content":%s%s}]}`, i, i, i, i, quoted(prose(fmt.Sprint("result ", i), ofResult)), last)
	}
	return harness.Ask{
		Path: "/v1/messages", Header: []string{"X-Claude-Code-Session-Id", s.id},
		Body: fmt.Sprintf(`{"model":%q,"max_tokens":64,"metadata":{"user_id":%q},"system":[{"type":"text","text":"A header."},{"type":"text","text":"You are an agent."%s},{"type":"text","text":%s%s}],`+
			`"tools":[%s],"messages":[%s]}`, s.model, "session_"+s.id, mark, quoted(prose(s.id, ofInstructions/2)), mark, list(tools, tool), list(turn+1, history)),
	}
}

// codex has its instructions in messages of the developer, and names its session in prompt_cache_key and a header. It
// sets no marks.
func codex(s *session, turn int) harness.Ask {
	tool := func(i int) string {
		return fmt.Sprintf(`{"type":"function","name":"tool_%d","description":%s,"parameters":%s,"strict":false}`, i, quoted(prose(fmt.Sprint(s.id, " tool ", i), ofTool)), schema)
	}
	history := func(i int) string {
		if i == 0 {
			return fmt.Sprintf(`{"type":"message","role":"developer","content":[{"type":"input_text","text":%s}]},{"type":"message","role":"developer","content":[{"type":"input_text","text":%s}]},`+
				`{"type":"message","role":"user","content":[{"type":"input_text","text":"Fix the test."}]}`, quoted(prose(s.id, ofInstructions)), quoted(prose(s.id+" environment", ofResult)))
		}
		return fmt.Sprintf(`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Step %d"}]},{"type":"function_call","call_id":"call_%d","name":"tool_1","arguments":"{\"path\":\"f%d\"}"},`+
			`{"type":"function_call_output","call_id":"call_%d","output":%s}`, i, i, i, i, quoted(prose(fmt.Sprint("result ", i), ofResult)))
	}
	return harness.Ask{
		Path: "/v1/responses", Header: []string{"Session-Id", s.id},
		Body: fmt.Sprintf(`{"model":%q,"max_output_tokens":64,"store":false,"prompt_cache_key":%q,"tools":[%s],"input":[%s]}`,
			s.model, s.id, list(tools, tool), list(turn+1, history)),
	}
}

// opencode names its session in a header, and sets no marks for a model that it does not know.
func opencode(s *session, turn int) harness.Ask {
	tool := func(i int) string {
		return fmt.Sprintf(`{"type":"function","function":{"name":"tool_%d","description":%s,"parameters":%s}}`, i, quoted(prose(fmt.Sprint(s.id, " tool ", i), ofTool)), schema)
	}
	history := func(i int) string {
		if i == 0 {
			return fmt.Sprintf(`{"role":"system","content":%s},{"role":"user","content":"Fix the test."}`, quoted(prose(s.id, ofInstructions)))
		}
		return fmt.Sprintf(`{"role":"assistant","content":"Step %d","tool_calls":[{"id":"call_%d","type":"function","function":{"name":"tool_1","arguments":"{\"path\":\"f%d\"}"}}]},`+
			`{"role":"tool","tool_call_id":"call_%d","content":%s}`, i, i, i, i, quoted(prose(fmt.Sprint("result ", i), ofResult)))
	}
	return harness.Ask{
		Path: "/v1/chat/completions", Header: []string{"x-session-affinity", s.id},
		Body: fmt.Sprintf(`{"model":%q,"max_tokens":64,"tools":[%s],"messages":[%s]}`, s.model, list(tools, tool), list(turn+1, history)),
	}
}
