package anthropic

import (
	"slices"
	"strconv"
	"strings"

	"weir/internal/dialect/compose"
	"weir/internal/dialect/parse"
	"weir/internal/dialect/rules"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// Efforts that Anthropic has no name for, or only at some models.
const (
	effortNone    = "none"
	effortMinimal = "minimal"
	effortExtra   = "xhigh"
)

// decodeThinking reads the thinking options. An effort takes precedence over thinking that is off.
func decodeThinking(r *llm.Request, v []byte) error {
	if rawjson.KindOf(v) != rawjson.Object {
		return llm.Invalid("thinking", `The thinking must be an object such as {"type": "adaptive"}.`)
	}
	o := r.Thinking()
	o.Raw = v
	if n, ok := rawjson.AsInt(rawjson.Get(v, "budget_tokens")); ok && n > 0 && n <= parse.MaxCount {
		o.Budget = n
	}
	if rawjson.Text(rawjson.Get(v, "type")) == "disabled" && o.Effort == "" {
		o.Effort = effortNone
	}
	return nil
}

// Versions of Claude that decide the form of the thinking options; 0 is a model of another vendor with a server of this
// format: https://platform.claude.com/docs/en/about-claude/models/migration-guide.
const (
	foreign       rules.Version = 0
	firstThinking rules.Version = 307 // before it, no model thinks
	firstAdaptive rules.Version = 406 // {type: adaptive} and an effort instead of a budget
	firstXHigh    rules.Version = 407 // supports the effort xhigh
)

// alwaysThinks reports whether a model refuses to switch thinking off.
func alwaysThinks(model string) bool {
	return strings.Contains(model, "claude-fable") || strings.Contains(model, "claude-mythos")
}

// The lowest thinking budget, and the budgets in tokens that stand for an effort at models with budgets. The largest
// leaves space for defaultOutput within the 32,000 tokens that such a model may write.
const (
	minBudget    = 1024
	lowBudget    = 2048
	mediumBudget = 8192
	highBudget   = 16_384
	mostBudget   = 20_480
)

// thought holds the thinking options for a model.
type thought struct {
	raw    []byte // the thinking object, unchanged
	kind   string // its type, if the gateway writes it; empty for none
	budget int64
	effort string
}

// on reports whether thinking is requested, which restricts other parameters.
func (t *thought) on() bool { return t.kind == "enabled" || t.kind == "adaptive" }

// plan returns the thinking options in the form that the model understands. No rule chooses it: effort, budget and
// output cap become other fields, and rules only change values.
func (e *requestEncoder) plan(r *llm.Request) thought {
	o := r.Reasoning
	switch {
	case o == nil:
		return thought{}
	case e.Own:
		return ownPlan(o)
	case o.Effort == effortNone:
		return e.planNone(r.Model)
	case o.Effort == "" && o.Budget <= 0:
		return thought{}
	case e.version >= firstAdaptive:
		return e.planAdaptive(r, o)
	case e.version >= firstThinking || e.version == foreign:
		return e.planBudget(r, o)
	}
	e.Drop("reasoning_effort")
	return thought{}
}

// ownPlan returns the options of a request of this format. The effort "none" stands for thinking that is off
// (decodeThinking).
func ownPlan(o *llm.ReasoningOptions) thought {
	t := thought{raw: o.Raw, budget: o.Budget, effort: o.Effort}
	if t.effort == effortNone {
		t.effort = ""
	}
	switch {
	case o.Raw != nil:
	case o.Budget > 0:
		t.kind = "enabled"
	case o.Effort == effortNone:
		t.kind = "disabled"
	}
	return t
}

// planNone switches thinking off if it may be on by default.
func (e *requestEncoder) planNone(model string) thought {
	switch {
	case alwaysThinks(model):
		e.Drop("reasoning_effort")
	case e.version >= firstAdaptive:
		return thought{kind: "disabled"}
	}
	return thought{}
}

// planAdaptive sets the effort, and adaptive thinking unless a tool call is forced.
func (e *requestEncoder) planAdaptive(r *llm.Request, o *llm.ReasoningOptions) thought {
	t := thought{effort: o.Effort, kind: "adaptive"}
	if forced(r.ToolChoice) {
		t.kind = ""
	}
	switch o.Effort {
	case "low", "medium", "high", "max":
	case effortMinimal:
		t.effort = "low"
	case effortExtra:
		if e.version < firstXHigh {
			t.effort = "high"
		}
	case "":
		e.Drop("reasoning budget")
		t.effort = compose.EffortOf(o.Budget)
	default:
		e.Drop("reasoning_effort")
		return thought{}
	}
	return t
}

// planBudget sets a thinking budget, which must be below the output cap. Models with budgets refuse to think if a tool
// call is forced, or in the middle of an answer that began without thinking.
func (e *requestEncoder) planBudget(r *llm.Request, o *llm.ReasoningOptions) thought {
	budget, name, share := o.Budget, "reasoning budget", int64(1)
	if o.Effort != "" {
		budget, name, share = budgetOf(o.Effort), "reasoning_effort", 2 // the other half is for the answer
	}
	if budget > 0 {
		budget = max(budget, minBudget)
	}
	if r.MaxOutput != nil {
		budget = min(budget, (*r.MaxOutput-1)/share)
	}
	if budget < minBudget || forced(r.ToolChoice) || e.amidTurn(r.Messages) {
		e.Drop(name)
		return thought{}
	}
	return thought{kind: "enabled", budget: budget}
}

// budgetOf returns the budget of an effort, 0 for an unknown one.
func budgetOf(effort string) int64 {
	switch effort {
	case effortMinimal:
		return minBudget
	case "low":
		return lowBudget
	case "medium":
		return mediumBudget
	case "high":
		return highBudget
	case effortExtra, "max":
		return mostBudget
	}
	return 0
}

func forced(c *llm.ToolChoice) bool {
	return c != nil && (c.Mode == llm.ToolsRequired || c.Mode == llm.ToolsNamed)
}

// amidTurn reports whether the answer continues the assistant's last message, or calls that it made without signed
// thinking.
func (e *messageEncoder) amidTurn(list []llm.Message) bool {
	acted := false
	for i := len(list) - 1; i >= 0; i-- {
		m := &list[i]
		acted = acted || slices.ContainsFunc(m.Parts, isResult)
		if m.Role == llm.RoleAssistant {
			return i == len(list)-1 || acted && !slices.ContainsFunc(m.Parts, e.recalls)
		}
	}
	return acted
}

// thinking writes the thinking members.
func (e *requestEncoder) thinking(t *thought) {
	switch {
	case t.raw != nil:
		e.Raw("thinking", t.raw)
	case t.kind == "" || !e.Key("thinking"):
	case t.kind == "enabled":
		e.Dst = strconv.AppendInt(append(e.Dst, `{"type":"enabled","budget_tokens":`...), t.budget, 10)
		e.Dst = append(e.Dst, '}')
	default:
		e.Dst = append(rawjson.AppendString(append(e.Dst, `{"type":`...), t.kind), '}')
	}
}
