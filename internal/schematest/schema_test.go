package schematest_test

import (
	"cmp"
	"slices"
	"testing"

	"weir/internal/must"
	"weir/internal/schematest"
)

// TestSchemasRefuse breaks each keyword that vendors' schemas have, one at a time.
func TestSchemasRefuse(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ schema, good, bad, want string }{
		{`{"type":"string"}`, `"a"`, `1`, "/x type"},
		{`{"type":["integer","null"]}`, `1.0`, `1.5`, "/x type"},
		{`{"type":"boolean"}`, `true`, `"true"`, "/x type"},
		{`{"enum":["a",1]}`, `1`, `"b"`, "/x enum"},
		{`{"const":"a"}`, `"a"`, `"b"`, "/x const"},
		{`{"minimum":1}`, `1`, `0.9`, "/x minimum"},
		{`{"maximum":1}`, `1`, `1.1`, "/x maximum"},
		{`{"exclusiveMinimum":0}`, `0.1`, `0`, "/x exclusiveMinimum"},
		{`{"exclusiveMaximum":1}`, `0.9`, `1`, "/x exclusiveMaximum"},
		{`{"multipleOf":2}`, `4`, `3`, "/x multipleOf"},
		{`{"minLength":2}`, `"éé"`, `"é"`, "/x minLength"},
		{`{"maxLength":2}`, `"éé"`, `"ééé"`, "/x maxLength"},
		{`{"pattern":"^a+$"}`, `"aa"`, `"ab"`, "/x pattern"},
		{`{"minItems":1}`, `[1]`, `[]`, "/x minItems"},
		{`{"maxItems":1}`, `[1]`, `[1,2]`, "/x maxItems"},
		{`{"uniqueItems":true}`, `[1,2]`, `[1,1]`, "/x uniqueItems"},
		{`{"items":{"type":"string"}}`, `["a"]`, `["a",2]`, "/x/* type"},
		{`{"minProperties":1}`, `{"a":1}`, `{}`, "/x minProperties"},
		{`{"maxProperties":1}`, `{"a":1}`, `{"a":1,"b":2}`, "/x maxProperties"},
		{`{"required":["a"]}`, `{"a":1}`, `{"b":1}`, "/x/a missing"},
		{`{"properties":{"a":true},"additionalProperties":false}`, `{"a":1}`, `{"a":1,"b":1}`, "/x/b unknown"},
		{`{"additionalProperties":{"type":"string"}}`, `{"a":"b"}`, `{"a":1}`, "/x/a type"},
		{`{"propertyNames":{"maxLength":1}}`, `{"a":1}`, `{"ab":1}`, "/x propertyNames"},
		{`{"not":{"required":["a","b"]}}`, `{"a":1}`, `{"a":1,"b":1}`, "/x not"},
		{`{"$ref":"#/definitions/Even"}`, `2`, `3`, "/x multipleOf"},
		{`{"anyOf":[{"type":"string"},{"type":"null"}]}`, `null`, `1`, "/x anyOf"},
	} {
		s := must.Get(schematest.New([]byte(`{"definitions":{"Even":{"multipleOf":2},"R":{"properties":{"x":`+tt.schema+`}}}}`), "R"))(t)
		if found := s.Violations([]byte(`{"x":` + tt.good + `}`)); found != nil {
			t.Errorf("%s has %v against %s", tt.schema, found, tt.good)
		}
		if got := kindsOf(s.Violations([]byte(`{"x":` + tt.bad + `}`))); !slices.Equal(got, []string{tt.want}) {
			t.Errorf("%s against %s: got %q, want %q", tt.schema, tt.bad, got, tt.want)
		}
	}
}

// TestSchemasTellWhichAlternativeWasMeant checks that the error is of the alternative with the value's tag.
func TestSchemasTellWhichAlternativeWasMeant(t *testing.T) {
	t.Parallel()
	s := must.Get(schematest.New([]byte(`{"definitions":{"R":{"properties":{"parts":{"anyOf":[{"type":"string"},{"type":"array","items":{"anyOf":[
		{"type":"object","properties":{"type":{"const":"text"},"text":{"type":"string"}},"required":["type","text"],"additionalProperties":false},
		{"type":"object","properties":{"type":{"enum":["image"]},"url":{"type":"string","maxLength":3}},"required":["type","url"],"additionalProperties":false}
	]}}]}}}}}`), "R"))(t)
	for body, want := range map[string][]string{
		`{"parts":"a"}`:                                  nil,
		`{"parts":[{"type":"text","text":"a"}]}`:         nil,
		`{"parts":7}`:                                    {"/parts anyOf"},
		`{"parts":[{"type":"text","text":7}]}`:           {"/parts/*/text type"},
		`{"parts":[{"type":"text","text":"a","url":1}]}`: {"/parts/*/url unknown"},
		`{"parts":[{"type":"image","url":"abcd"}]}`:      {"/parts/*/url maxLength"},
		`{"parts":[{"type":"image","x":1}]}`:             {"/parts/*/url missing", "/parts/*/x unknown"},
		`{"parts":[{"type":"sound"}]}`:                   {"/parts/* anyOf"},
		`{"parts":[`:                                     {" JSON"},
	} {
		got := kindsOf(s.Violations([]byte(body)))
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", body, got, want)
		}
	}
}

func kindsOf(found []schematest.Violation) (kinds []string) {
	for _, v := range found {
		kinds = append(kinds, v.Kind())
	}
	return kinds
}

// TestVendorsSchemasRefuse is the negative control of the files: a request that each vendor accepts, and one that it
// does not.
func TestVendorsSchemasRefuse(t *testing.T) {
	t.Parallel()
	all := must.Get(schematest.All())(t)
	for vendor, tt := range map[string]struct{ good, bad, want string }{
		"openai":     {`{"model":"m","messages":[{"role":"user","content":"x"}]}`, `{"model":"m","messages":[{"role":"user","content":"x"}],"stop":["a","b","c","d","e"]}`, "/stop maxItems"},
		"responses":  {`{"model":"m","input":"x"}`, `{"model":"m","input":"x","max_output_tokens":15}`, "/max_output_tokens minimum"},
		"anthropic":  {`{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"x"}]}`, `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"x"}],"temperature":1.5}`, "/temperature maximum"},
		"gemini":     {`{"contents":[{"parts":[{"text":"x"}]}]}`, `{"contents":[{"parts":[{"text":"x","inlineData":{"mimeType":"image/png","data":"AAAA"}}]}]}`, "/contents/*/parts/* not"},
		"bedrock":    {`{"messages":[{"role":"user","content":[{"text":"x"}]}]}`, `{"messages":[{"role":"tool","content":[{"text":"x"}]}]}`, "/messages/*/role enum"},
		"cohere":     {`{"model":"m","messages":[{"role":"user","content":"x"}]}`, `{"model":"m","messages":[{"role":"user","content":"x"}],"k":501}`, "/k maximum"},
		"mistral":    {`{"model":"m","messages":[{"role":"tool","content":"x","tool_call_id":"AbCdEfGh9"}]}`, `{"model":"m","messages":[{"role":"tool","content":"x","tool_call_id":"call_1"}]}`, "/messages/*/tool_call_id pattern"},
		"groq":       {`{"model":"m","messages":[{"role":"user","content":"x"}]}`, `{"model":"m","messages":[{"role":"user","content":"x"}],"store":true,"verbosity":"low"}`, "/verbosity unknown"},
		"openrouter": {`{"model":"m","messages":[{"role":"user","content":"x"}]}`, `{"model":"m","messages":[{"role":"user","content":"x"}],"n":2}`, "/n unknown"},
		"anthropic-betas": {
			`{"model":"m","max_tokens":1,"messages":[{"role":"assistant","content":[{"type":"mcp_tool_use","id":"x","name":"f","server_name":"s","input":{}}]}]}`,
			`{"model":"m","max_tokens":1,"messages":[{"role":"assistant","content":[{"type":"mcp_tool_use","id":"x","name":"f","input":{}}]}]}`, "/messages/*/content/*/server_name missing",
		},
		"cerebras": {`{"model":"m","messages":[{"role":"user","content":"x"}]}`, `{"model":"m","messages":[{"role":"user","content":"x"}],"verbosity":"low"}`, "/verbosity unknown"},
		"ollama":   {`{"model":"m","messages":[{"role":"user","content":"x"}]}`, `{"model":"m","messages":[{"role":"user","content":["x"]}]}`, "/messages/*/content type"},
	} {
		if found := all[vendor].Violations([]byte(tt.good)); found != nil {
			t.Errorf("%s has %v against %s", vendor, found, tt.good)
		}
		if got := kindsOf(all[vendor].Violations([]byte(tt.bad))); !slices.Equal(got, []string{tt.want}) {
			t.Errorf("%s against %s: got %q, want %q", vendor, tt.bad, got, tt.want)
		}
	}
	if len(all) != len(schematest.Vendors()) {
		t.Errorf("got %d schemas, want %d", len(all), len(schematest.Vendors()))
	}
}

// TestQuickAgreesWithLibrary compares the verdicts on conversations by all schemas, and by the client API's own without
// each of their parts.
func TestQuickAgreesWithLibrary(t *testing.T) {
	t.Parallel()
	all := must.Get(schematest.All())(t)
	accepted := map[bool]int{}
	agree := func(schema string, body []byte) {
		quick, library, err := all[schema].Verdicts(body)
		if err != nil || quick != library {
			t.Errorf("%s: quick %v, library %v, %v: %s", schema, quick, library, err, body)
		}
		accepted[library]++
	}
	for _, c := range clients() {
		for n := range uint64(5) {
			request := c.make(newGenerator(n))
			for _, schema := range schematest.Vendors() {
				agree(schema, encoded(request))
			}
			for _, without := range removals(request, func(v any) any { return v }) {
				agree(cmp.Or(c.own, "openai"), encoded(without().(object)))
			}
		}
	}
	if accepted[true] < 500 || accepted[false] < 500 {
		t.Errorf("accepted and refused %v: want 500 of each", accepted)
	}
}
