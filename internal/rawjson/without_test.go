package rawjson_test

import (
	"testing"

	"weir/internal/must"
	"weir/internal/rawjson"
)

// TestAppendWithoutNull checks that members that are null are removed, with their comma, and nothing else.
func TestAppendWithoutNull(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`data: {"id":"1","usage":null}`:                     `data: {"id":"1"}`,
		`{"a": 1, "usage" : null , "b": 2}`:                 `{"a": 1 , "b": 2}`,
		`{"usage":null}`:                                    `{}`,
		`{"usage": null, "b": 2}`:                           `{ "b": 2}`,
		`{"usage":null,"b":{"usage":null}}`:                 `{"b":{}}`,
		`{"usage":{"n":1}}`:                                 `{"usage":{"n":1}}`,
		`{"a":"usage","b":null}`:                            `{"a":"usage","b":null}`,
		`{"a":",\"usage\":null"}`:                           `{"a":",\"usage\":null"}`,
		`{"a":["usage",null],"usage":nu`:                    `{"a":["usage",null],"usage":nu`,
		`{"my_usage":null,"usage_more":null,"usage":null }`: `{"my_usage":null,"usage_more":null }`,
		``: ``,
	} {
		must.Equal(t, string(rawjson.AppendWithoutNull(nil, []byte(text), `"usage"`)), want, "the text")
	}
}

// BenchmarkAppendWithoutNull measures a usual piece of a stream, with the member and without it.
func BenchmarkAppendWithoutNull(b *testing.B) {
	const head = `data: {"id":"chatcmpl-123456789","object":"chat.completion.chunk","created":1790000000,"model":"gpt-5-mini",` +
		`"choices":[{"index":0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null}]`
	for name, text := range map[string]string{"with": head + `,"usage":null}`, "without": head + `}`} {
		b.Run(name, func(b *testing.B) {
			out, piece := make([]byte, 0, 1<<10), []byte(text)
			b.ReportAllocs()
			for b.Loop() {
				out = rawjson.AppendWithoutNull(out[:0], piece, `"usage"`)
			}
		})
	}
}
