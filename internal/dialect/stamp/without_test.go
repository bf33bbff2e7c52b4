package stamp_test

import (
	"testing"

	"weir/internal/dialect/stamp"
	"weir/internal/rawjson"
)

// TestWithoutCost holds that no place where providers tell a cost is left, and that all else stays as it is.
func TestWithoutCost(t *testing.T) {
	t.Parallel()
	for before, after := range map[string]string{
		`{"usage":{"cost":1}}`:                                     `{"usage":{}}`,
		`{"usage":{"cost":1,"a":2}}`:                               `{"usage":{"a":2}}`,
		`{"usage":{"a":2,"cost":1}}`:                               `{"usage":{"a":2}}`,
		`{"usage":{"cost":1,"cost_details":{"x":1},"a":2}}`:        `{"usage":{"a":2}}`,
		`{"usage":{"a":1,"cost":1,"b":2,"is_byok":true}}`:          `{"usage":{"a":1,"b":2}}`,
		`{ "usage" : { "cost" : 1 , "a" : 2 } }`:                   `{ "usage" : { "a" : 2 } }`,
		`{"response":{"usage":{"cost_in_usd_ticks":5,"a":1}}}`:     `{"response":{"usage":{"a":1}}}`,
		`{"x_groq":{"usage":{"cost":5}},"weir":{"cost_usd":"1"}}`:  `{"x_groq":{"usage":{}}}`,
		`{"weir":{"cost_usd":"1"},"usage":{"c\u006fst":1,"a":[]}}`: `{"usage":{"a":[]}}`,
		`{"usage":{"estimated_cost":1,"a":2,"marketCost":"3"}}`:    `{"usage":{"a":2}}`,
		`{"usage":{"total_price":"1","PRICE":2,"a":{"cost":1}}}`:   `{"usage":{"a":{}}}`,
		`{"provider_metadata":{"gateway":{"cost":"1","a":2}}}`:     `{"provider_metadata":{"gateway":{"a":2}}}`,
		`{"choices":[{"message":{"content":"cost","cost":1}}]}`:    `{"choices":[{"message":{"content":"cost","cost":1}}]}`,
		`{"usage":{"n":[ {"cost":1}, {"a":2,"cost":1}],"b":[1]}}`:  `{"usage":{"n":[ {}, {"a":2}],"b":[1]}}`,
		`{"usage":{"n":[[{"cost":1}],{"b":[{"cost":1}]}]}}`:        `{"usage":{"n":[[{}],{"b":[{}]}]}}`,
		`{"response":{"usage":{"a":[{"b":{"cost":1}}]}}}`:          `{"response":{"usage":{"a":[{"b":{}}]}}}`,
		`{"usage":{"a":2}}`:                                        `{"usage":{"a":2}}`,
		`{"metadata":{"cost":"1"}}`:                                `{"metadata":{"cost":"1"}}`,
		`{"usage":null}`:                                           `{"usage":null}`,
		`{}`:                                                       `{}`,
		`[DONE]`:                                                   `[DONE]`,
		``:                                                         ``,
	} {
		got := string(stamp.WithoutCost([]byte(before)))
		if got != after {
			t.Errorf("%s: got %s, want %s", before, got, after)
		}
		if before != "" && before[0] == '{' && rawjson.Validate([]byte(got), 10) != nil {
			t.Errorf("%s: got %s, which is no JSON", before, got)
		}
	}
}
