package bedrock

import (
	"slices"
	"strconv"
	"strings"

	"weir/internal/dialect/compose"
	"weir/internal/dialect/parse"
	"weir/internal/llm"
)

const effortNone = "none"

// isEffort reports whether outputConfig accepts that effort.
func isEffort(word string) bool {
	return slices.Contains([]string{"low", "medium", "high", "xhigh", "max"}, word)
}

// thinker is the way to control a model's thinking. Converse has one common field for it, outputConfig.effort, which
// only Claude supports so far; all others are among each model's own parameters.
type thinker uint8

const (
	thinksNot      thinker = iota // or the control is unknown
	thinksBudget                  // Claude 3.7 to 4.5: thinking, with a budget in tokens
	thinksAdaptive                // Claude from 4.6 on: adaptive thinking, with an effort
	thinksNova                    // Nova 2: reasoningConfig, with an effort
	thinksOpenAI                  // gpt-oss and later: reasoning_effort
)

// thinkers maps parts of a model's id to its control; the first match counts. An id without the model's name, such as
// that of an application inference profile, matches none.
//
// https://docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-extended-thinking.html,
// https://docs.aws.amazon.com/nova/latest/nova2-userguide/extended-thinking.html.
var thinkers = []struct {
	id   string
	kind thinker
}{
	{"claude-3-7", thinksBudget},
	{"claude-3", thinksNot},
	{"claude-v", thinksNot},
	{"claude-instant", thinksNot},
	{"claude-sonnet-4-2", thinksBudget}, // Claude 4 itself, with its date
	{"claude-opus-4-2", thinksBudget},
	{"claude-opus-4-1", thinksBudget},
	{"claude-sonnet-4-5", thinksBudget},
	{"claude-haiku-4-5", thinksBudget},
	{"claude-opus-4-5", thinksBudget},
	{"anthropic.claude-", thinksAdaptive},
	{"amazon.nova-2", thinksNova},
	{"openai.gpt", thinksOpenAI},
}

func thinkerOf(model string) thinker {
	for _, t := range thinkers {
		if strings.Contains(model, t.id) {
			return t.kind
		}
	}
	return thinksNot
}

func isClaude(model string) bool { return strings.Contains(model, "anthropic.claude") }

func isNova(model string) bool { return strings.Contains(model, "amazon.nova-") }

// Budgets in tokens that stand for efforts.
const (
	leastBudget  = 1024 // Claude's minimum
	lowBudget    = 2048
	mediumBudget = 8192
	highBudget   = 16384
	mostBudget   = 32768
)

func budgetOf(effort string) int64 {
	switch effort {
	case "minimal":
		return leastBudget
	case "low":
		return lowBudget
	case "high":
		return highBudget
	case "xhigh", "max":
		return mostBudget
	}
	return mediumBudget
}

// thinking holds the reasoning members of the body: those of the additional fields, and the effort of outputConfig.
type thinking struct {
	fields []llm.Field
	effort string
	claude bool // the model thinks, so it accepts no sampling parameters
}

// think decides how a model thinks. It drops options that the model does not support. No rule does it: each family of
// models has other fields, and rules only change values.
func (e *requestEncoder) think(r *llm.Request) thinking {
	o := r.Reasoning
	switch {
	case compose.IsOpenThinking(o) && thinkerOf(r.Model) == thinksAdaptive && !e.Own && !forcesTool(r):
		return thinking{claude: true, fields: []llm.Field{{Name: "thinking", Value: []byte(`{"type":"adaptive"}`)}}}
	case o == nil || o.Effort == "" && o.Budget <= 0:
		e.DropThinking(o)
		return thinking{}
	case e.Own:
		return ownThinking(o)
	}
	kind, effort := thinkerOf(r.Model), o.Effort
	if kind == thinksBudget {
		return e.budgetThinking(r)
	}
	if o.Budget > 0 {
		e.Drop("reasoning budget")
		if effort == "" {
			effort = compose.EffortOf(o.Budget)
		}
	}
	if effort == effortNone && (kind == thinksAdaptive || kind == thinksNova) {
		return thinking{} // they do not think by default
	}
	return e.effortThinking(r, kind, effort)
}

// effortThinking requests an effort.
func (e *requestEncoder) effortThinking(r *llm.Request, kind thinker, effort string) thinking {
	switch {
	case kind == thinksAdaptive && !forcesTool(r):
		return thinking{
			claude: true, effort: claudeEffort(effort),
			fields: []llm.Field{{Name: "thinking", Value: []byte(`{"type":"adaptive"}`)}},
		}
	case kind == thinksNova:
		value := `{"type":"enabled","maxReasoningEffort":"` + e.novaEffort(r, effort) + `"}`
		return thinking{fields: []llm.Field{{Name: "reasoningConfig", Value: []byte(value)}}}
	case kind == thinksOpenAI && effort != effortNone:
		return thinking{
			fields: []llm.Field{{Name: "reasoning_effort", Value: []byte(`"` + threeEfforts(effort) + `"`)}},
		}
	case r.Reasoning.Effort != "":
		e.Drop("reasoning_effort")
	}
	return thinking{}
}

// ownThinking writes the options that decodeThinking and decodeOutput read.
func ownThinking(o *llm.ReasoningOptions) (t thinking) {
	switch {
	case o.Budget > 0:
		t.fields = append(t.fields, llm.Field{Name: "thinking", Value: enabled(o.Budget)})
	case o.Effort == effortNone:
		t.fields = append(t.fields, llm.Field{Name: "thinking", Value: []byte(`{"type":"disabled"}`)})
	}
	if o.Effort != effortNone {
		t.effort = o.Effort
	}
	return t
}

func enabled(budget int64) []byte {
	return append(strconv.AppendInt([]byte(`{"type":"enabled","budget_tokens":`), budget, 10), '}')
}

// budgetThinking sets a thinking budget below Claude's output cap; a budget that stands for an effort leaves half of
// the cap to the answer. Claude refuses to think if a tool call is forced, or if it called a tool without thinking
// first.
func (e *requestEncoder) budgetThinking(r *llm.Request) thinking {
	room := int64(parse.MaxCount)
	if r.MaxOutput != nil {
		room = *r.MaxOutput
	}
	name, budget := "reasoning budget", min(max(r.Reasoning.Budget, leastBudget), room-1)
	if r.Reasoning.Budget <= 0 {
		if r.Reasoning.Effort == effortNone {
			return thinking{}
		}
		name, budget = "reasoning_effort", min(budgetOf(r.Reasoning.Effort), room/2)
	}
	if budget < leastBudget || forcesTool(r) || calledWithoutThinking(r.Messages) {
		e.Drop(name)
		return thinking{}
	}
	return thinking{claude: true, fields: []llm.Field{{Name: "thinking", Value: enabled(budget)}}}
}

func forcesTool(r *llm.Request) bool {
	return r.ToolChoice != nil && (r.ToolChoice.Mode == llm.ToolsRequired || r.ToolChoice.Mode == llm.ToolsNamed)
}

// calledWithoutThinking reports whether the last message of the assistant calls tools without signed thinking before
// the calls.
func calledWithoutThinking(messages []llm.Message) bool {
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Role != llm.RoleAssistant {
			continue
		}
		calls := false
		for _, p := range messages[i].Parts {
			if isProved(&p) {
				return false
			}
			calls = calls || p.Kind == llm.PartToolCall
		}
		return calls
	}
	return false
}

func claudeEffort(effort string) string {
	if isEffort(effort) {
		return effort
	}
	if effort == "minimal" {
		return "low"
	}
	return "medium"
}

// novaEffort returns one of Nova's three efforts. The highest excludes an output cap and sampling parameters, so it is
// lowered if the request has any.
func (e *requestEncoder) novaEffort(r *llm.Request, effort string) string {
	effort = threeEfforts(effort)
	if effort == "high" && (r.MaxOutput != nil || r.Temperature != nil || r.TopP != nil || r.TopK != nil) {
		e.Drop("reasoning_effort")
		return "medium"
	}
	return effort
}

// threeEfforts returns the nearest of low, medium and high.
func threeEfforts(effort string) string {
	switch effort {
	case "minimal", "low":
		return "low"
	case "high", "xhigh", "max":
		return "high"
	}
	return "medium"
}
