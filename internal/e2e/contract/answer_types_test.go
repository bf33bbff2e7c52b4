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

// answerTypes are a vendor's published types of what its API answers, as JSON Schema: "make answers" writes them.
// Their objects are closed.
type answerTypes struct {
	whole, event string // the definitions of a whole answer and of an event of a stream
	contract     *harness.Contract
}

// Fields of the gateway's own, which docs/client-apis.md and docs/observability.md tell of, and those that
// everybody but the vendor has in Chat Completions: thinking and images.
var ownFields = map[string][]string{
	"openai":    {"usage/cost", "weir", "message/reasoning_content", "delta/reasoning_content", "delta/annotations", "message/reasoning_details", "delta/reasoning_details", "message/images", "delta/images", "tool_calls/extra_content"},
	"responses": {"usage/cost", "weir"},
	"anthropic": {"usage/cost", "weir"},
	"gemini":    {"usageMetadata/cost", "weir"},
}

// relaxed is a schema to which null and absence are one, as they are to the vendors: what their recorded answers lack, newer
// ones have as null, and what the types have as optional, some have as null.
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

// freeMember is a member of a definition about which the vendor's own answers say something else than its type.
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

// apply lets the member be absent, or anything.
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

// refusal says what the vendor's type has against an object; nil for nothing.
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

// without is a JSON value without the members of that name in members named above; of any where above is empty.
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

// deepest is the complaint that lies deepest: of a union, that of the type which was meant.
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

// tellsKind are the alternatives of a union whose "type" is that of the value.
func tellsKind(e *jsonschema.ValidationError) (kinds []*jsonschema.ValidationError, ok bool) {
	for _, c := range e.Causes {
		if !strings.Contains(c.Error(), "/type': value must be") {
			kinds = append(kinds, c)
		}
	}
	return kinds, len(kinds) > 0 && len(kinds) < len(e.Causes)
}
