package gateway_test

import (
	"encoding/json"
	"errors"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"
)

func responsesSDK() *sdkClient {
	return &sdkClient{clientAPI: "responses", ask: askResponses, embed: embedOpenAI, raised: raisedOpenAI, words: openaiWords()}
}

func responsesParams(q sdkQuestion) responses.ResponseNewParams {
	content := responses.ResponseInputMessageContentListParam{responses.ResponseInputContentParamOfInputText(firstWords)}
	if q.image != "" {
		content = append(content, responses.ResponseInputContentUnionParam{OfInputImage: &responses.ResponseInputImageParam{
			Detail: responses.ResponseInputImageDetailAuto, ImageURL: openai.String(q.image),
		}})
	}
	input := responses.ResponseInputParam{responses.ResponseInputItemParamOfMessage(content, responses.EasyInputMessageRoleUser)}
	p := responses.ResponseNewParams{Model: q.model, Store: openai.Bool(false)}
	if q.tool {
		p.Tools = []responses.ToolUnionParam{responses.ToolParamOfFunction("weather", weatherSchema(), false)}
	}
	if q.schema {
		p.Text.Format.OfJSONSchema = &responses.ResponseFormatTextJSONSchemaConfigParam{Name: "place", Strict: openai.Bool(true), Schema: placeSchema()}
	}
	if q.think {
		p.Reasoning = shared.ReasoningParam{Effort: shared.ReasoningEffortLow, Summary: shared.ReasoningSummaryAuto}
		p.Include = []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent}
	}
	if q.after != nil {
		input = append(input, q.after.turn.(responses.ResponseInputParam)...)
		for _, call := range q.after.calls {
			input = append(input, responses.ResponseInputItemUnionParam{OfFunctionCallOutput: &responses.ResponseInputItemFunctionCallOutputParam{
				CallID: openai.String(call.id),
				Output: responses.ResponseInputItemFunctionCallOutputOutputUnionParam{OfString: openai.String(weatherResult)},
			}})
		}
		if len(q.after.calls) == 0 {
			input = append(input, responses.ResponseInputItemParamOfMessage("Go on", responses.EasyInputMessageRoleUser))
		}
	}
	p.Input.OfInputItemList = input
	return p
}

func askResponses(c sdkCall, q sdkQuestion) (heard, error) {
	if q.stream {
		return streamResponses(c, q)
	}
	client := openaiClient(c)
	whole, err := client.Responses.New(c.ctx, responsesParams(q))
	if err != nil {
		return heard{}, err
	}
	return heardResponses(whole), nil
}

func streamResponses(c sdkCall, q sdkQuestion) (h heard, err error) {
	client := openaiClient(c)
	stream := client.Responses.NewStreaming(c.ctx, responsesParams(q))
	defer stream.Close()
	var acc responses.ResponseAccumulator
	var text, thought string
	pieces := 0
	for stream.Next() {
		var same responses.ResponsesServerEventUnion
		if err := json.Unmarshal([]byte(stream.Current().RawJSON()), &same); err != nil {
			return h, err
		}
		if err := acc.AddEvent(same); err != nil {
			return h, err
		}
		switch e := stream.Current().AsAny().(type) {
		case responses.ResponseTextDeltaEvent:
			text += e.Delta
			pieces++
			q.piece()
		case responses.ResponseReasoningSummaryTextDeltaEvent:
			thought += e.Delta
		case responses.ResponseCompletedEvent:
			h = heardResponses(&e.Response)
		case responses.ResponseIncompleteEvent:
			h = heardResponses(&e.Response)
		case responses.ResponseFailedEvent:
			return heard{text: text, pieces: pieces}, errors.New("the stream failed: " + e.Response.Error.Message)
		}
	}
	if err := stream.Err(); err != nil {
		return heard{text: text, pieces: pieces}, err
	}
	if accumulated := acc.Snapshot().OutputText(); h.text != text || accumulated != text || h.thought != thought {
		return h, errors.New("the last event says " + h.text + ", the SDK accumulated " + accumulated + ", the pieces say " + text)
	}
	h.pieces = pieces
	return h, nil
}

func heardResponses(r *responses.Response) heard {
	h := heard{
		text: r.OutputText(), finish: string(r.Status), in: r.Usage.InputTokens, out: r.Usage.OutputTokens,
		cost: r.Usage.JSON.ExtraFields["cost"].Raw(),
	}
	turn := responses.ResponseInputParam{}
	for _, item := range r.Output {
		turn = append(turn, param.Override[responses.ResponseInputItemUnionParam](json.RawMessage(item.RawJSON())))
		switch item.Type {
		case "function_call":
			call := item.AsFunctionCall()
			h.calls = append(h.calls, called{call.CallID, call.Name, call.Arguments})
		case "reasoning":
			for _, s := range item.AsReasoning().Summary {
				h.thought += s.Text
			}
		}
	}
	h.turn = turn
	return h
}
