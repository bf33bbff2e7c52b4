package schematest_test

import (
	"math/rand/v2"
	"slices"
	"strings"
)

type (
	object = map[string]any
	list   = []any
)

const (
	png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	pdf = "JVBERi0xLjQKJcOkw7zDtsOfCjEgMCBvYmoKPDwvVHlwZS9DYXRhbG9nPj4KZW5kb2JqCnRyYWlsZXI8PC9Sb290IDEgMCBSPj4KJSVFT0YK"
)

// generator generates requests of a client API, the same for the same seed. An option in only is always generated, and
// then no other one.
type generator struct{ *rand.Rand }

func newGenerator(seed uint64) generator { return generator{rand.New(rand.NewPCG(seed, 43))} }

// once returns true once in n times.
func (g generator) once(n int) bool { return g.IntN(n) == 0 }

// one returns one of the values.
func one[T any](g generator, values ...T) T { return values[g.IntN(len(values))] }

// some puts, one time in eight, a value into each member.
func (g generator) some(o object, values map[string]func() any) {
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if g.once(8) {
			o[name] = values[name]()
		}
	}
}

// of returns a function that returns one of the values.
func of(g generator, values ...any) func() any { return func() any { return one(g, values...) } }

// number returns a function that returns a number from least to most, inclusive.
func (g generator) number(least, most float64) func() any {
	return func() any { return one(g, least, most, least+(most-least)*float64(g.IntN(100))/100) }
}

// count does the same for integers.
func (g generator) count(least, most int64) func() any {
	return func() any { return one(g, least, most, least+g.Int64N(min(most-least, 1000)+1)) }
}

// marks returns how rare marks of prompt caches are in a conversation: it is the number of parts for one mark. Some
// conversations have more marks than vendors accept.
func (g generator) marks() int {
	if g.once(10) {
		return 2
	}
	return 20
}

// breaks sometimes marks a part of content in OpenAI's form, one of so many.
func (g generator) breaks(marks int, part object) object {
	if g.once(marks) {
		part["prompt_cache_breakpoint"] = object{"mode": "explicit"}
	}
	return part
}

// text returns content: never empty.
func (g generator) text() string {
	return one(g, "x", "Two words.", "größer, 日本, 😀", " space before and behind ", "line\nline", `"{\`, strings.Repeat("long ", 200))
}

// toolNames returns a few different names, within the bounds of a client API.
func (g generator) toolNames(odd ...string) []string {
	names := append([]string{"f", "get_weather", "9lives", "-dash", "_under", "A-b_9", "mcp__files__read_text"}, odd...)
	g.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	return names[:g.IntN(4)]
}

// call holds the id and the name by which a result refers to its tool call.
type call struct{ id, name string }

// calls generates the calls of an answer, with ids in the client API's form; ids of earlier answers sometimes repeat.
func (g generator) calls(names []string, former []call, odd ...string) (all []call) {
	if len(names) == 0 {
		names = []string{"gone"} // a tool that is offered no more
	}
	ids := append([]string{"call_abc123", "toolu_01A09q90qw90lq917835lq9", "x", "AbCdEfGh9", "call-1_2"}, odd...)
	for _, c := range former {
		ids = append(ids, c.id)
	}
	g.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	for _, id := range ids[:1+g.IntN(3)] {
		if !slices.ContainsFunc(all, func(c call) bool { return c.id == id }) {
			all = append(all, call{id, one(g, names...)})
		}
	}
	return all
}

// arguments generates an object.
func (g generator) arguments() object {
	return one(g, object{}, object{"a": "x"}, object{"n": 7, "deep": object{"l": list{1, nil, true}}}, object{"": "", "ü": 1.5})
}

// argumentText generates arguments as a model may write them: now and then not an object.
func (g generator) argumentText() string {
	return one(g, "{}", `{"a":"x"}`, `{"a": {"b": [1, null]}}`, `{"a":"x"`, "", "  ", "[]", `"x"`)
}

// parameters generates a schema of a tool's arguments.
func (g generator) parameters() object {
	s := object{"type": "object", "properties": object{}}
	for _, name := range []string{"a", "b-c", "$d"}[:g.IntN(4)] {
		s["properties"].(object)[name] = g.schema(2)
	}
	g.some(s, map[string]func() any{
		"required": of(g, list{"a"}, list{}), "additionalProperties": of(g, false, true, object{"type": "string"}),
		"$schema": of(g, "https://json-schema.org/draft/2020-12/schema"), "description": of(g, "d"), "title": of(g, "T"),
		"$defs": of(g, object{"d": object{"type": "integer", "minimum": 1}}), "minProperties": of(g, 1),
		"patternProperties": of(g, object{"^x": object{"type": "number"}}), "propertyNames": of(g, object{"maxLength": 9}),
		"dependentRequired": of(g, object{"a": list{"b-c"}}), "if": of(g, object{"required": list{"a"}}),
	})
	return s
}

// schema generates any schema, each keyword sometimes.
func (g generator) schema(depth int) any {
	if depth == 0 {
		return one[any](g, object{"type": "string"}, object{}, true, object{"enum": list{"a", 1, nil}})
	}
	deeper := func() any { return g.schema(depth - 1) }
	several := func() any { return list{deeper(), deeper()} }
	s := one(g,
		object{"type": "string"}, object{"type": "integer"}, object{"type": list{"string", "null"}}, object{"type": "array", "items": deeper()},
		object{"type": "object", "properties": object{"x": deeper()}}, object{"$ref": "#/$defs/d"}, object{"const": 1}, object{"type": "boolean"})
	g.some(s, map[string]func() any{
		"description": of(g, "d", ""), "title": of(g, "T"), "default": of(g, nil, "a", 1), "examples": of(g, list{"a"}),
		"enum": of(g, list{"a", "b"}, list{1, 2}, list{"a", nil}), "format": of(g, "date-time", "uuid", "odd"),
		"pattern": of(g, "^a+$"), "minLength": of(g, 0, 3), "maxLength": of(g, 9), "minimum": of(g, 0, -1.5), "maximum": of(g, 10),
		"exclusiveMinimum": of(g, 0), "multipleOf": of(g, 0.5), "minItems": of(g, 0, 2), "maxItems": of(g, 5), "uniqueItems": of(g, true),
		"anyOf": several, "oneOf": several, "allOf": several, "not": deeper, "contains": deeper, "prefixItems": several,
		"additionalProperties": deeper, "deprecated": of(g, true), "readOnly": of(g, true), "nullable": of(g, true), "$comment": of(g, "c"),
	})
	return s
}

// conversation generates the messages of a conversation: the first is a user's, as is each after an answer without
// calls. It ends with the user, with results, or with an answer to continue.
func (g generator) conversation(user, results func(), answer func(last bool) (calls bool)) {
	user()
	for range g.IntN(4) {
		if answer(false) {
			results()
			if g.once(2) {
				continue
			}
		}
		user()
	}
	if g.once(10) {
		answer(true)
	}
}
