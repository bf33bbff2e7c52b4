package stamp_test

import (
	"testing"

	"weir/internal/dialect/stamp"
	"weir/internal/rawjson"
)

// TestWithoutCost checks that no place in which providers report a cost remains, and that everything else is unchanged.
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
		`{"choices":[{"message":{"content":"cost","cost":1}}]}`:    `{"choices":[{"message":{"content":"cost"}}]}`,

		// Other places in which vendors and gateways report it.
		`{"x_nanogpt_pricing":{"amount":0.4,"costUsd":0.4},"id":"a"}`:                                              `{"id":"a"}`,
		`{"choices":[{"delta":{"provider_metadata":{"gateway":{"cost":"0.4","a":1}}}}]}`:                           `{"choices":[{"delta":{"provider_metadata":{"gateway":{"a":1}}}}]}`,
		`{"choices":[{"usage":{"cost":1,"input":{"cost":1}},"cost":1,"index":0}]}`:                                 `{"choices":[{"usage":{"input":{}},"index":0}]}`,
		`{"data":[{"embedding":[1],"cost":1}]}`:                                                                    `{"data":[{"embedding":[1]}]}`,
		`{"inference_status":{"runtime_ms":5,"cost":0.4}}`:                                                         `{"inference_status":{"runtime_ms":5}}`,
		`{"remainingBalance":9,"credits_used":4,"billing":{"amount":1},"Spend":2,"a":3}`:                           `{"a":3}`,
		`{"a":[[[[[[[[[[{"total_price":1}]]]]]]]]]]}`:                                                              `{"a":[[[[[[[[[[{}]]]]]]]]]]}`,
		`{"usage":{"metadata":{"cost":1}},"meta":{"billed_units":{"input_tokens":1}}}`:                             `{"usage":{"metadata":{}},"meta":{"billed_units":{"input_tokens":1}}}`,
		`{"\u0063ost":1,"thinking_budget":5,"concurrency":2}`:                                                      `{"thinking_budget":5,"concurrency":2}`,
		`{"concurrency_cost":1,"concurrencyUsd":2,"cost_of_thinking_budget":3,"a":4}`:                              `{"a":4}`,
		`{"total_fee":1,"serviceFee":2,"fees":{"x":1},"FEE_EUR":3,"platformFees":4,"a":5}`:                         `{"a":5}`,
		`{"usage":{"eur":1,"cents":2,"total_cents":3,"rub":4,"paid":5,"quota":6,"funds_left":7,"tariff":8,"a":9}}`: `{"usage":{"a":9}}`,
		`{"feedback":1,"coffee":2,"recent":3,"accents":4,"neural":5,"ruby":6,"promptFeedback":{}}`:                 `{"feedback":1,"coffee":2,"recent":3,"accents":4,"neural":5,"ruby":6,"promptFeedback":{}}`,
		"{\n \"cost\" : 1 ,\n \"a\" : 1 ,\n \"price\" : {\"b\":[1]}\n}":                                            "{\n \"a\" : 1\n}",

		// Text of the model, a tool and the client.
		`{"content":[{"type":"tool_use","input":{"cost":1,"price":[{"usd":2}]}}]}`:                    `{"content":[{"type":"tool_use","input":{"cost":1,"price":[{"usd":2}]}}]}`,
		`{"candidates":[{"content":{"parts":[{"functionCall":{"args":{"price":1}}}]}}]}`:              `{"candidates":[{"content":{"parts":[{"functionCall":{"args":{"price":1}}}]}}]}`,
		`{"message":{"tool_calls":[{"function":{"arguments":{"budget":1}}}]}}`:                        `{"message":{"tool_calls":[{"function":{"arguments":{"budget":1}}}]}}`,
		`{"choices":[{"message":{"content":"{\"cost\":1}"}}]}`:                                        `{"choices":[{"message":{"content":"{\"cost\":1}"}}]}`,
		`{"response":{"tools":[{"parameters":{"properties":{"price":{}}}}],"metadata":{"cost":"1"}}}`: `{"response":{"tools":[{"parameters":{"properties":{"price":{}}}}],"metadata":{"cost":"1"}}}`,
		`{"text":{"format":{"schema":{"properties":{"cost":{"type":"number"}}}}}}`:                    `{"text":{"format":{"schema":{"properties":{"cost":{"type":"number"}}}}}}`,
		`{"output":{"message":{"content":[{"toolUse":{"input":{"amount":1}}}]}}}`:                     `{"output":{"message":{"content":[{"toolUse":{"input":{"amount":1}}}]}}}`,
		`{"usage":{"n":[ {"cost":1}, {"a":2,"cost":1}],"b":[1]}}`:                                     `{"usage":{"n":[ {}, {"a":2}],"b":[1]}}`,
		`{"usage":{"n":[[{"cost":1}],{"b":[{"cost":1}]}]}}`:                                           `{"usage":{"n":[[{}],{"b":[{}]}]}}`,
		`{"response":{"usage":{"a":[{"b":{"cost":1}}]}}}`:                                             `{"response":{"usage":{"a":[{"b":{}}]}}}`,
		`{"usage":{"a":2}}`:         `{"usage":{"a":2}}`,
		`{"metadata":{"cost":"1"}}`: `{"metadata":{"cost":"1"}}`,
		`{"usage":null}`:            `{"usage":null}`,
		`{}`:                        `{}`,
		`[DONE]`:                    `[DONE]`,
		``:                          ``,
	} {
		got := string(stamp.WithoutCost([]byte(before)))
		if got != after {
			t.Errorf("%s: got %s, want %s", before, got, after)
		}
		if before != "" && before[0] == '{' && rawjson.Validate([]byte(got), 100) != nil {
			t.Errorf("%s: got %s, which is not JSON", before, got)
		}
	}
}

// TestExplanationsWithAmounts checks which explanations of providers contain an amount of money.
func TestExplanationsWithAmounts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"Budget has been exceeded! Current cost: 0.4242, Max budget: 0.4 in organization acme": true,
		"This request would cost $12": true, "Requires at least 5 credits, balance is 3": true, "it is €4": true,
		"Cost per request may not exceed 1e-3": true,

		"Your concurrency is 5, your costs are 0.4242": true, "You have paid 0.4242": true, "Total fee: 0.4242": true,
		"With thinking.budget_tokens of 1024 this costs 0.4242": true, "0.42 cents are left": true, "Your funds are 0.4242": true,

		"thinking.budget_tokens must be at least 1024":                      false,
		"The thinking budget must be at least 128 tokens":                   false,
		"maximum context length is 8192 tokens, you asked for 9000":         false,
		"Feedback of 5 accents":                                             false,
		"Your concurrency limit is 5":                                       false,
		"Insufficient credits":                                              false,
		"Invalid schema at tools[0].function.parameters.properties[2].cost": false,
		"": false,
	} {
		if got := stamp.TellsCost(text); got != want {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
}

// TestEventName checks which names of events are passed on.
func TestEventName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"response.output_text.delta": "response.output_text.delta", "message_stop": "message_stop", "": "",
		"cost": "", "usage.cost": "", "0.4242": "", "total=0.4": "", "a b": "",
	} {
		if got := stamp.EventName([]byte(name)); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}
