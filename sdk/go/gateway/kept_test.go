package gateway_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"

	"weir/internal/e2e/harness"
	"weir/internal/must"
)

// TestKeptSDK runs the official client in a loop with a tool, and a provider with another wire format: its result
// refers to a call of the response before.
func TestKeptSDK(t *testing.T) {
	t.Parallel()
	k := harness.OpenKept(t, "anthropic", "", nil)
	client := sdk(k.Gateway, k.Key)
	p := responses.ResponseNewParams{
		Model: "house/tools",
		Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("How is the weather in Rome?")},
		Tools: []responses.ToolUnionParam{responses.ToolParamOfFunction("weather", map[string]any{"type": "object", "properties": map[string]any{"city": map[string]string{"type": "string"}}}, false)},
	}
	first := must.Get(client.Responses.New(t.Context(), p))(t)
	if len(first.Output) != 1 || first.Output[0].Type != "function_call" {
		t.Fatalf("no call: %s", first.RawJSON())
	}
	p.PreviousResponseID = openai.String(first.ID)
	result := responses.ResponseInputItemParamOfFunctionCallOutput("sunny")
	result.OfFunctionCallOutput.CallID = openai.String(first.Output[0].CallID)
	p.Input = responses.ResponseNewParamsInputUnion{OfInputItemList: responses.ResponseInputParam{result}}
	second := must.Get(client.Responses.New(t.Context(), p))(t)
	if second.OutputText() == "" || !strings.Contains(k.Last(), `"type":"tool_use","id":"`+first.Output[0].CallID) || !strings.Contains(k.Last(), "How is the weather in Rome?") {
		t.Errorf("after the result: %s; the provider saw %s", second.RawJSON(), k.Last())
	}
	got, err := client.Responses.Get(t.Context(), second.ID, responses.ResponseGetParams{})
	if err != nil || got.OutputText() != second.OutputText() || got.PreviousResponseID != first.ID {
		t.Errorf("get: %+v, %v", got, err)
	}
	var kinds []string
	items := client.Responses.InputItems.ListAutoPaging(t.Context(), second.ID, responses.InputItemListParams{Limit: openai.Int(1), Order: "asc"})
	for items.Next() {
		kinds = append(kinds, items.Current().Type)
	}
	if got := strings.Join(kinds, " "); items.Err() != nil || got != "message function_call function_call_output" {
		t.Errorf("items %q, %v", got, items.Err())
	}
	if err := client.Responses.Delete(t.Context(), second.ID); err != nil {
		t.Errorf("delete: %v", err)
	}
	_, err = client.Responses.Get(t.Context(), second.ID, responses.ResponseGetParams{})
	if e, ok := errors.AsType[*openai.Error](err); !ok || e.StatusCode != http.StatusNotFound {
		t.Errorf("get a deleted response: %v, want status 404", err)
	}
}
