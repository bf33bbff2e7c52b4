package responses

import (
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// echoed are the members of a request that its response repeats
// (https://platform.openai.com/docs/api-reference/responses/object). The members store and previous_response_id are
// missing because the gateway sets them, and tools have a longer form in responses.
var echoed = rawjson.Names{
	"frequency_penalty", "instructions", outputCap, "max_tool_calls", "metadata", "parallel_tool_calls",
	"presence_penalty", "prompt_cache_key",
	"reasoning", "safety_identifier", "temperature", "text", "top_logprobs", "top_p", "truncation", "user",
}

// Echo returns the members of a request's body that its response repeats.
func Echo(body []byte) (echo []llm.Field) {
	for m := range rawjson.Members(body) {
		if name := m.Name(); rawjson.Present(m.Value) && echoed.Has(name) {
			echo = append(echo, llm.Field{Name: name, Value: m.Value})
		}
	}
	return echo
}
