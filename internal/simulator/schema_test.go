package simulator

import (
	"encoding/json"
	"testing"

	"weir/internal/worktest"
)

func TestFromSchema(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, schema, want string }{
		{"no schema", `null`, `{}`},
		{"every property", `{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"boolean"},"c":{"type":"null"}}}`, `{"a":1,"b":true,"c":null}`},
		{"enum, const", `{"properties":{"a":{"enum":["x","y"]},"b":{"const":7}}}`, `{"a":"x","b":7}`},
		{"bounds", `{"properties":{"a":{"type":"integer","minimum":5},"b":{"type":"number","exclusiveMaximum":0},"c":{"type":"integer","multipleOf":7,"exclusiveMinimum":14}}}`, `{"a":5,"b":-1,"c":21}`},
		{"arrays", `{"properties":{"a":{"type":"array","items":{"type":"integer"},"minItems":3},"b":{"items":{"type":"null"},"maxItems":0}}}`, `{"a":[1,1,1],"b":[]}`},
		{"nullable", `{"properties":{"a":{"type":["null","integer"]},"b":{"anyOf":[{"type":"null"},{"type":"boolean"}]}}}`, `{"a":1,"b":true}`},
		{"reference", `{"properties":{"a":{"$ref":"#/$defs/x~1y"}},"$defs":{"x/y":{"type":"integer"}}}`, `{"a":1}`},
		{"lost reference", `{"properties":{"a":{"$ref":"#/nowhere"},"b":{"$ref":"http://elsewhere"}},"type":"object"}`, ``},
		{"format", `{"properties":{"a":{"type":"string","format":"date"}}}`, `{"a":"2026-01-02"}`},
		{"lengths", `{"properties":{"a":{"type":"string","maxLength":0},"b":{"type":"string","minLength":90}}}`, ``},
		{"without end", `{"properties":{"a":{"$ref":"#"},"b":{"$ref":"#"}}}`, ``},
		{"in a circle", `{"$ref":"#"}`, `null`},
		{"a million", `{"type":"array","minItems":1000000000,"items":{"type":"integer"}}`, ``},
	} {
		got := fromSchema([]byte(tt.schema), 1)
		if !json.Valid([]byte(got)) {
			t.Errorf("%s: fromSchema(%s) = %.200s: not JSON", tt.name, tt.schema, got)
		}
		if tt.want != "" && got != tt.want {
			t.Errorf("%s: fromSchema(%s) = %s, want %s", tt.name, tt.schema, got, tt.want)
		}
		if len(got) > 1<<16 {
			t.Errorf("%s: fromSchema(%s) is %d bytes long", tt.name, tt.schema, len(got))
		}
	}
}

// FuzzFromSchema checks that the answer to any schema of a client is JSON of a bounded size.
func FuzzFromSchema(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"type":"string","minLength":3}}}`)
	f.Add(`{"$ref":"#/$defs/a","$defs":{"a":{"anyOf":[{"$ref":"#"}]}}}`)
	f.Fuzz(func(t *testing.T, schema string) {
		worktest.Check(t, []byte(schema), func(schema []byte) { fromSchema(schema, 1) })
		if !json.Valid([]byte(schema)) {
			return
		}
		if got := fromSchema([]byte(schema), 1); !json.Valid([]byte(got)) {
			t.Errorf("fromSchema(%q) = %q: not JSON", schema, got)
		}
	})
}
