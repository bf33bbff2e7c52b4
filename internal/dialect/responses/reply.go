package responses

import (
	"errors"
	"fmt"
	"strings"

	"weir/internal/dialect/explain"
	"weir/internal/dialect/openai"
	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

var (
	errNoOutput = errors.New("responses: the reply has no output")
	errOutput   = errors.New("responses: the reply's output is not a list of items")
)

// The statuses of a response.
const (
	statusCompleted  = "completed"
	statusIncomplete = "incomplete"
	statusFailed     = "failed"
	statusCancelled  = "cancelled"
	statusInProgress = "in_progress"
	statusQueued     = "queued"
)

// The reasons of an incomplete response.
const (
	reasonLength = "max_output_tokens"
	reasonFilter = "content_filter"
)

// result holds the members of a response object.
type result struct {
	id, model, created, status, tier []byte
	output, usage, failure, details  []byte
	toolUsage, tools                 []byte
	extra                            []llm.Field
}

// readResult splits a response object into its members. Unknown ones are stored if keepExtra is set.
func readResult(v []byte, keepExtra bool) (r result) {
	for m := range rawjson.Members(v) {
		if place := r.place(m.Key()); place != nil {
			*place = m.Value
		} else if keepExtra && !m.Is("object") {
			r.extra = parse.Extra(r.extra, m)
		}
		switch {
		case m.Is("tool_usage"):
			r.toolUsage = m.Value
		case m.Is("tools"):
			r.tools = m.Value
		}
	}
	return r
}

func (r *result) place(key []byte) *[]byte {
	switch string(key) {
	case "id":
		return &r.id
	case "model":
		return &r.model
	case "created_at":
		return &r.created
	case "status":
		return &r.status
	case "service_tier":
		return &r.tier
	case "output":
		return &r.output
	case "usage":
		return &r.usage
	case "error":
		return &r.failure
	case "incomplete_details":
		return &r.details
	}
	return nil
}

// DecodeReply reads a whole answer. It returns an *llm.Error if the provider reported an error, with the usage next to
// it, or otherwise with the tool calls before it; any other error means that the reply violates the protocol. An
// unfinished answer has no finish reason. Raw JSON in the reply shares memory with body.
func DecodeReply(body []byte, q *llm.Quirks) (*llm.Reply, error) {
	if err := rawjson.Validate(body, maxDepth); err != nil {
		return nil, fmt.Errorf("responses: the reply is not JSON: %w", err)
	}
	v := readResult(body, true)
	created, _ := rawjson.AsInt(v.created)
	r := &llm.Reply{
		ID: rawjson.Text(v.id), Created: created, Model: rawjson.Text(v.model), Tier: rawjson.Text(v.tier),
		Extra: v.extra, ExtraOf: Name,
	}
	if r.Usage, r.Most, r.Reported = v.used(q); r.Reported {
		r.ProviderCost, r.Tier = openai.ProviderCost(v.usage), v.modes(&r.Usage)
	}
	if failure := v.failed(body); failure != nil {
		if parts, err := decodeOutput(v.output); !r.Reported && err == nil && len(parts) > 0 {
			r.Choices = []llm.Choice{{Message: llm.Message{Role: llm.RoleAssistant, Parts: parts}}}
			r.Most = v.ran(&r.Usage, r.Most, q)
		}
		return r, failure
	}
	switch {
	case rawjson.KindOf(v.output) == rawjson.Array:
	case openai.IsErrorObject(rawjson.Get(body, "object")):
		return r, explain.Reported(body)
	default:
		return nil, errNoOutput
	}
	parts, err := decodeOutput(v.output)
	if err != nil {
		return nil, err
	}
	r.Choices = []llm.Choice{{
		Finish:  finishOf(rawjson.Text(v.status), v.reason(), acts(v.output)),
		Message: llm.Message{Role: llm.RoleAssistant, Parts: parts},
		Tokens:  tokensOf(parts),
	}}
	return r, nil
}

// failed returns the error that a response object holds or is, or nil. object is the source of r.
func (r *result) failed(object []byte) *llm.Error {
	status := rawjson.Text(r.status)
	switch {
	case rawjson.Present(r.failure):
		return explain.Reported(object)
	case status == statusFailed:
		return &llm.Error{
			Code:    llm.CodeProviderError,
			Message: "The provider could not complete the answer and gave no reason. Try again.",
		}
	case status == statusCancelled:
		return &llm.Error{Code: llm.CodeProviderError, Message: "The provider cancelled the answer."}
	}
	return nil
}

func (r *result) reason() string { return rawjson.Text(rawjson.Get(r.details, "reason")) }

// used reads the usage. Tool calls count as the provider reports them, or by the items of the answer if it does not.
func (r *result) used(q *llm.Quirks) (u llm.Usage, most *llm.Usage, ok bool) {
	if !rawjson.Present(r.usage) { // as at the begin of most streams, whose stacks stay small
		return u, nil, false
	}
	if u, most, ok = openai.DecodeUsage(r.usage, q); ok {
		most = r.ran(&u, most, q)
	}
	return u, most, ok
}

// ran adds the tool calls in the answer, and returns the new upper bound.
func (r *result) ran(u, most *llm.Usage, q *llm.Quirks) *llm.Usage {
	calls := tools{q: q}
	for _, v := range rawjson.Elements(r.output) {
		calls.add(v)
	}
	return r.addTools(u, most, &calls)
}

// modes returns the modes of the answer: its service tier, search by the preview tool, which has another price, and the
// containers that code may have run in (https://developers.openai.com/api/docs/pricing).
func (r *result) modes(u *llm.Usage) string {
	modes := rawjson.Text(r.tier)
	if by := preview(r.tools); u[llm.Searches] > 0 && by != "" {
		modes += "," + by
	}
	if asked := containers(r.tools); asked != "" {
		modes += "," + asked
	}
	return modes
}

// addTools adds the calls in the items to the usage, and returns the new upper bound, as in llm.Reply.
func (r *result) addTools(u, most *llm.Usage, calls *tools) *llm.Usage {
	u.Raise(&calls.made)
	n, is := rawjson.AsInt(rawjson.Get(r.toolUsage, "web_search", "num_requests"))
	if is && n > 0 && n <= parse.MaxCount {
		u[llm.Searches] = n
		return most
	}
	if calls.more == 0 {
		return most
	}
	if most == nil {
		all := *u
		most = &all
	}
	most[llm.Searches] = max(most[llm.Searches], u[llm.Searches]+calls.more)
	return most
}

// decodeOutput reads the items of an answer, in order.
func decodeOutput(v []byte) (parts []llm.Part, err error) {
	t := turns{output: true}
	for _, item := range rawjson.Elements(v) {
		if t.item(item, "output") != nil {
			return nil, errOutput // it is not the client's error
		}
	}
	for _, m := range t.end() {
		parts = append(parts, m.Parts...)
	}
	for i := range parts {
		parts[i].Cite(claims(parts[i].Text, parts[i].Annotations)...)
	}
	return parts, nil
}

// acts reports whether the output has a call for the client.
func acts(output []byte) bool {
	for _, item := range rawjson.Elements(output) {
		if isAct(rawjson.Text(rawjson.Get(item, "type"))) {
			return true
		}
	}
	return false
}

func isAct(kind string) bool {
	switch kind {
	case itemCall, "custom_tool_call", "computer_call", "local_shell_call", "shell_call", "apply_patch_call",
		"mcp_approval_request":
		return true
	}
	return false
}

// finishOf maps the status of a response. An unfinished response has no finish reason.
func finishOf(status, reason string, acts bool) llm.FinishReason {
	switch {
	case status == statusQueued || status == statusInProgress:
		return ""
	case status == statusIncomplete && strings.Contains(reason, reasonFilter):
		return llm.FinishContentFilter
	case status == statusIncomplete:
		return llm.FinishLength
	case acts:
		return llm.FinishToolCalls
	}
	return llm.FinishStop
}

// stateOf returns the status of a response with that finish reason, and the reason if it is incomplete.
func stateOf(f llm.FinishReason) (status, reason string) {
	switch f {
	case llm.FinishLength:
		return statusIncomplete, reasonLength
	case llm.FinishContentFilter:
		return statusIncomplete, reasonFilter
	case llm.FinishError:
		return statusFailed, ""
	}
	return statusCompleted, ""
}
