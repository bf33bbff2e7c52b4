package contract_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"weir/internal/e2e/harness"
	"weir/internal/must"
)

// answerTypes holds a vendor's published types of its API's answers, as JSON Schema: "make answers" writes them. Their
// objects are closed.
type answerTypes struct {
	whole, event string // the definitions of a whole answer and of an event of a stream
	contract     *harness.Contract
}

// ownFields lists fields of the gateway's own, described in docs/client-apis.md and docs/observability.md, and those of
// Chat Completions that all servers except the vendor's have: thinking and images.
var ownFields = map[string][]string{
	"openai":    {"usage/cost", "weir", "message/reasoning_content", "delta/reasoning_content", "delta/annotations", "message/reasoning_details", "delta/reasoning_details", "message/images", "delta/images", "tool_calls/extra_content"},
	"responses": {"usage/cost", "weir"},
	"anthropic": {"usage/cost", "weir"},
	"gemini":    {"usageMetadata/cost", "weir"},
}

// relaxed returns a schema in which null equals absence, as for the vendors: newer answers have null for members that
// recorded ones lack, and some have null for optional members of the types.
func relaxed(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = relaxed(v[i])
		}
	case map[string]any:
		for name, member := range v {
			v[name] = relaxed(member)
		}
		members, _ := v["properties"].(map[string]any)
		required, _ := v["required"].([]any)
		required = slices.DeleteFunc(slices.Clone(required), func(name any) bool { return takesNull(members[name.(string)]) })
		for name, member := range members {
			if !slices.Contains(required, any(name)) {
				members[name] = orElse(member, map[string]any{"type": "null"})
			}
		}
		if len(members) > 0 {
			v["required"] = required
		}
	}
	return v
}

func takesNull(schema any) bool {
	s, _ := schema.(map[string]any)
	for _, one := range append(list(s, "anyOf"), list(s, "type")...) {
		if one == "null" || text(one, "type") == "null" {
			return true
		}
	}
	return s["type"] == "null"
}

// freeMember names a member of a definition in which the vendor's own answers differ from its type.
type freeMember struct{ definition, name string }

func freeMembers() []freeMember {
	return []freeMember{
		{"Response", "store"},
		{"Response", "usage"},       // answers have the first, and null for the second as long as they go on
		{"Response", "output_text"}, // the SDK adds it
		{"Response", "frequency_penalty"},
		{"Response", "presence_penalty"},
		{"Response", "billing"},
		{"ResponseFunctionCallArgumentsDeltaEvent", "obfuscation"},
		{"ResponseTextDeltaEvent", "obfuscation"},
		{"ToolUseBlock", "caller"},
		{"ServerToolUseBlock", "caller"},
		{"WebSearchToolResultBlock", "caller"}, // newer than the answers
		{"ServerToolUsage", "web_fetch_requests"},
		{"ResponseFunctionCallArgumentsDoneEvent", "name"}, // OpenAI's OpenAPI document requires it, and no answer has it
		{"ResponseErrorEvent", "error"},                    // the gateway's own: openai before 7 raises no other form
		{"RootGenerateContentResponse", "createTime"},
		{"RootGenerateContentResponse.UsageMetadata", "serviceTier"}, // @google/genai 3.3.0 has them
	}
}

// apply permits the member to be absent, or to have any value.
func (f freeMember) apply(definitions map[string]any) {
	d, ok := definitions[f.definition].(map[string]any)
	if !ok {
		return
	}
	d["properties"].(map[string]any)[f.name] = true
	if required, ok := d["required"].([]any); ok {
		d["required"] = slices.DeleteFunc(required, func(name any) bool { return name == f.name })
	}
}

var readAnswerTypes = sync.OnceValues(func() (map[string]*answerTypes, error) {
	all := map[string]*answerTypes{
		"openai": {whole: "ChatCompletion", event: "ChatCompletionChunk"}, "responses": {whole: "Response", event: "ResponseStreamEvent"},
		"anthropic": {whole: "Message", event: "MessageStreamEvent"}, "gemini": {whole: "GenerateContentResponse", event: "GenerateContentResponse"},
	}
	for api, types := range all {
		file := strings.Replace(api, "responses", "openai", 1) + ".json"
		text, err := os.Open(filepath.Join("testdata", "types", file))
		if err != nil {
			return nil, err
		}
		defer text.Close()
		tree, err := jsonschema.UnmarshalJSON(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		definitions := relaxed(at(tree, "definitions")).(map[string]any)
		for _, f := range freeMembers() {
			f.apply(definitions)
		}
		if types.contract, err = harness.NewContract(tree.(map[string]any)); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	return all, nil
})

func vendorTypes(t *testing.T) map[string]*answerTypes {
	t.Helper()
	return must.Get(readAnswerTypes())(t)
}

// refusal returns the violation of the vendor's type; nil for none.
func (a *answerTypes) refusal(api, definition string, object any) error {
	for _, own := range ownFields[api] {
		above, name, found := strings.Cut(own, "/")
		if !found {
			above, name = "", own
		}
		object = without(object, "", above, name)
	}
	text, err := json.Marshal(object)
	if err != nil {
		return err
	}
	err = a.contract.Violation(harness.Pointer("definitions", "Root"+definition), string(text))
	var invalid *jsonschema.ValidationError
	if errors.As(err, &invalid) {
		return fmt.Errorf("%s: %s", definition, deepest(invalid))
	}
	return err
}

// without returns a JSON value without the members of that name in members named above; in any member if above is
// empty.
func without(v any, in, above, name string) any {
	switch v := v.(type) {
	case map[string]any:
		kept := map[string]any{}
		for key, member := range v {
			if key != name || above != "" && above != in {
				kept[key] = without(member, key, above, name)
			}
		}
		return kept
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = without(v[i], in, above, name)
		}
		return list
	}
	return v
}

// deepest returns the deepest complaint: of a union, the one of the intended type.
func deepest(err *jsonschema.ValidationError) string {
	best, depth := fmt.Sprintf("at /%s: %v", strings.Join(err.InstanceLocation, "/"), err.ErrorKind), len(err.InstanceLocation)
	var walk func(e *jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		if kinds, ok := tellsKind(e); ok && len(e.Causes) > 0 {
			for _, c := range kinds {
				walk(c)
			}
			return
		}
		for _, c := range e.Causes {
			walk(c)
		}
		if len(e.Causes) == 0 && len(e.InstanceLocation) >= depth {
			best, depth = fmt.Sprintf("at /%s: %s", strings.Join(e.InstanceLocation, "/"), strings.Split(e.Error(), "\n")[0]), len(e.InstanceLocation)
		}
	}
	walk(err)
	return best
}

// tellsKind returns the alternatives of a union that have the value's "type".
func tellsKind(e *jsonschema.ValidationError) (kinds []*jsonschema.ValidationError, ok bool) {
	for _, c := range e.Causes {
		if !strings.Contains(c.Error(), "/type': value must be") {
			kinds = append(kinds, c)
		}
	}
	return kinds, len(kinds) > 0 && len(kinds) < len(e.Causes)
}
