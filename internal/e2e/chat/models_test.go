package chat_test

import (
	"encoding/json"
	"strings"
	"testing"

	"weir/internal/e2e/harness"
	"weir/internal/must"
)

// TestModelsLeaveOutUnknownValues checks the list of models with sizes, abilities and prices: unknown values are left
// out, and an unknown price is not a price of 0.
func TestModelsLeaveOutUnknownValues(t *testing.T) {
	t.Parallel()
	h := harness.Open(t, harness.Setup{YAML: `
providers:
  openai: {api_keys: [x], models: [gpt-5.4, o1, mine]}
  house: {base_url: "http://127.0.0.1:9/v1", allow_private: true, models: [small, free, nothing]}
models:
  house/small: {context: 32768, max_output: 4096, tools: true, images: false}
prices:
  house/small: {input: "0.15", output: "0.60", search: "0.01", second: "0.0001"}
  house/free: {input: "0"}
aliases:
  fast: {targets: [house/small, openai/mine]}
`})
	var list struct {
		Object string           `json:"object"`
		Data   []map[string]any `json:"data"`
	}
	harness.Decode(t, h.Do(harness.Ask{Path: "/v1/models", Key: h.Key}).Body, &list)
	got := map[string]map[string]any{}
	for _, m := range list.Data {
		got[m["id"].(string)] = m
	}

	for id, want := range map[string]string{
		"house/nothing": `{"id":"house/nothing","object":"model","created":0,"owned_by":"house","unpriced":true}`,
		"openai/mine":   `{"id":"openai/mine","object":"model","created":0,"owned_by":"openai","unpriced":true}`,
		"fast":          `{"id":"fast","object":"model","created":0,"owned_by":"alias","targets":["house/small","openai/mine"]}`,
		"house/small": `{"id":"house/small","object":"model","created":0,"owned_by":"house","context_window":32768,"max_output_tokens":4096,
			"capabilities":{"images":false,"tools":true},"source":"operator",
			"prices":{"input":"0.15","cache_read":"0.15","cache_write":"0.15","cache_write_1h":"0.15","cache_read_audio":"0.15","audio_in":"0.15","image_in":"0.15","citation":"0.15","image_out":"0.6",
			"output":"0.6","reasoning":"0.6","audio_out":"0.6","search":"0.01","second":"0.0001"}}`,
		"house/free": `{"id":"house/free","object":"model","created":0,"owned_by":"house","source":"operator",
			"prices":{"input":"0","cache_read":"0","cache_write":"0","cache_write_1h":"0","cache_read_audio":"0","citation":"0","image_out":"0","audio_in":"0","image_in":"0","output":"0","reasoning":"0","audio_out":"0"}}`,
	} {
		var m map[string]any
		harness.Decode(t, want, &m)
		must.Equal(t, got[id], m, "%s", id)
	}
	for id, texts := range map[string][]string{
		"openai/gpt-5.4": {`"context_window":1050000`, `"structured":true`, `"audio":false`, `"price_tiers":[{"above":271999,"prices":{`, `"checked":"20`, `"source":"@pydantic/genai-prices `},
		"openai/o1":      {`"deprecated":true`, `"max_output_tokens":100000`},
	} {
		b, err := json.Marshal(got[id])
		for _, text := range texts {
			if err != nil || !strings.Contains(string(b), text) {
				t.Errorf("%s: got %s, %v, want %s in it", id, b, err, text)
			}
		}
	}
}
