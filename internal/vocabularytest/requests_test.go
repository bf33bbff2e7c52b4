package vocabularytest_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// calling builds a request with a call of a tool in its history, with the arguments in JSON, and with its result.
func calling(arguments, result string) string {
	call := object{"id": "c", "type": "function", "function": object{"name": "f", "arguments": arguments}}
	return encode(object{"messages": list{
		object{"role": "user", "content": "Go on."},
		object{"role": "assistant", "content": "", "tool_calls": list{call}},
		object{"role": "tool", "tool_call_id": "c", "content": result},
	}})
}

// offering builds a request with a tool of that description and of those parameters in JSON.
func offering(description, parameters string) string {
	const hole = "0.25"
	body := encode(object{
		"messages": list{object{"role": "user", "content": "Go on."}},
		"tools":    list{object{"type": "function", "function": object{"name": "f", "description": description, "parameters": list{0.25}}}},
	})
	return strings.Replace(body, "["+hole+"]", parameters, 1)
}

// repeated builds JSON of n elements, in a list.
func repeated(n int, element string) string {
	return "[" + strings.TrimSuffix(strings.Repeat(element+",", n), ",") + "]"
}

// nested builds n nested lists.
func nested(n int) string { return strings.Repeat("[1,", n) + "[]" + strings.Repeat("]", n) }

// requests returns requests that servers rewrite, by name.
func requests(random *rand.Rand) map[string]string {
	words := func(n int) string { return strings.Repeat("some words, & 'more' <b>; ", n/26+1)[:n] }
	members := func(n int, value string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"%c%c":%s`, 'a'+i%26, 'a'+i/26%26, value)
		}
		return "{" + b.String()[1:] + "}"
	}
	bitmap := func() string {
		row := make([]string, 20)
		for i := range row {
			row[i] = "[" + strings.TrimSuffix(strings.Repeat(fmt.Sprint(random.IntN(2))+",", 20), ",") + "]"
		}
		return "[" + strings.Join(row, ",") + "]"
	}()
	named := map[string]string{
		"results: signs": calling("{}", strings.Repeat("<&>'", 150)), "results: é": calling("{}", strings.Repeat("é", 300)),
		"results: DEL": calling("{}", strings.Repeat("\x7f", 400)), "results: HTML": calling("{}", strings.Repeat(`<a href='/x'>A & B</a>`, 40)),
		"results: JSON in JSON": calling("{}", encode(encode(encode(object{"a": strings.Repeat(`"\`, 100)})))),
		"tool: words":           offering(words(900), `{"type":"object"}`), "tool: signs": offering(strings.Repeat("<", 300), "{}"),
		"tool: Chinese": offering(strings.Repeat(sentences[2], 8), "{}"), "tool: emoji": offering(strings.Repeat("🫠", 100), "{}"),
		"tool: Russian": offering(strings.Repeat(sentences[1], 8), "{}"), "tool: DEL": offering(strings.Repeat("\x7f", 400), "{}"),
	}
	values := map[string]string{
		"numbers": repeated(400, "7"), "pairs of digits": repeated(250, "[3,4]"), "floats": repeated(250, "0.1"), "booleans": repeated(200, "true"), "nulls": repeated(200, "null"),
		"1e15": repeated(120, "1e15"), "1e20": repeated(120, "1e20"), "1e-7": repeated(120, "1e-7"), "bitmap": bitmap, "empty texts": repeated(300, `""`), "empty objects": repeated(200, "{}"),
		"pairs": repeated(150, `{"a":1}`), "DEL": `["` + strings.Repeat("\x7f", 400) + `"]`, "signs": `["` + strings.Repeat("<>&'", 120) + `"]`,
		"zero width": `["` + strings.Repeat("\u200b\u00ad", 120) + `"]`, "tags": `["` + strings.Repeat("\U000e0041", 120) + `"]`, "U+FDFA": `["` + strings.Repeat("\ufdfa", 120) + `"]`,
		"U+1D160": `["` + strings.Repeat("\U0001d160", 120) + `"]`, "escaped": `["` + strings.Repeat(`\ufdfa\n\"\\`, 100) + `"]`,
	}
	for _, depth := range []int{10, 40, 85} {
		values[fmt.Sprint("depth ", depth)] = repeated(1+120/depth, nested(depth))
	}
	for name, v := range values {
		named["arguments: "+name] = calling(`{"a":`+v+`}`, "ok")
		named["enum: "+name] = offering("", `{"type":"object","properties":{"a":{"enum":`+v+`}}}`)
	}
	for _, n := range []int{5, 90, 300} {
		named[fmt.Sprint("arguments: members ", n)] = calling(members(n, "1"), "ok")
		named[fmt.Sprint("schema: members ", n)] = offering("", `{"type":"object","properties":`+members(n, `{"type":"string","description":"A path."}`)+`}`)
		named[fmt.Sprint("schema: nothing ", n)] = offering("", `{"properties":`+members(n, `{}`)+`}`)
	}
	named["1001 messages"] = talk(1001)
	named["calls"] = calls(60)
	named["tools"] = tools(60)
	return named
}

// talk builds a request of n short messages.
func talk(n int) string {
	messages := make(list, n)
	for i := range messages {
		messages[i] = object{"role": []string{"user", "assistant"}[i%2], "content": ""}
	}
	return encode(object{"messages": messages})
}

// calls builds a request with a history of n calls without arguments.
func calls(n int) string {
	messages := list{object{"role": "user", "content": "Go on."}}
	for range n {
		messages = append(messages, object{"role": "assistant", "tool_calls": list{object{"id": "", "type": "function", "function": object{"name": "f", "arguments": "{}"}}}}, object{"role": "tool", "content": ""})
	}
	return encode(object{"messages": messages})
}

// tools builds a request with n tools without parameters.
func tools(n int) string {
	some := make(list, n)
	for i := range some {
		some[i] = object{"type": "function", "function": object{"name": "f"}}
	}
	return encode(object{"messages": list{object{"role": "user", "content": "Go on."}}, "tools": some})
}
