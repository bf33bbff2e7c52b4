package simulator_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"weir/internal/llm"
	"weir/internal/simulator"
)

func respond(model string) responses.ResponseNewParams {
	return responses.ResponseNewParams{
		Model: model,
		Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("Say it again, please")},
	}
}

func TestResponsesSDKUsage(t *testing.T) {
	t.Parallel()
	sdk(t, func(t *testing.T, c openai.Client, s *simulator.Server) {
		got, err := c.Responses.New(context.Background(), respond("reason:prompt=100,cached=60,tokens=5,reasoning=9"))
		if err != nil {
			t.Fatal(err)
		}
		u := got.Usage
		if u.InputTokens != 100 || u.InputTokensDetails.CachedTokens != 60 || u.OutputTokens != 14 || u.OutputTokensDetails.ReasoningTokens != 9 {
			t.Errorf("usage %+v, ledger %v", u, settled(t, s).Usage)
		}
		if got.Output[0].Type != "reasoning" || len(got.Output[0].Summary) != 1 || got.Output[1].Type != "message" {
			t.Errorf("output %s", got.RawJSON())
		}
		p := respond("chat:tokens=60")
		p.MaxOutputTokens = openai.Int(20)
		cut, err := c.Responses.New(context.Background(), p)
		if err != nil || cut.Status != "incomplete" || cut.IncompleteDetails.Reason != "max_output_tokens" || cut.Usage.OutputTokens != 20 {
			t.Errorf("a capped answer: %+v, %v", cut, err)
		}
	})
}

// heardStream is what the events of a stream told.
type heardStream struct {
	text, thought string
	last          responses.Response
}

func hearResponses(t *testing.T, c openai.Client, p responses.ResponseNewParams) (h heardStream) {
	t.Helper()
	stream := c.Responses.NewStreaming(context.Background(), p)
	defer stream.Close()
	var sequence int64
	var collected responses.ResponseAccumulator
	for stream.Next() {
		ev := stream.Current()
		if ev.SequenceNumber != sequence {
			t.Errorf("event %s has number %d, want %d", ev.Type, ev.SequenceNumber, sequence)
		}
		sequence++
		var same responses.ResponsesServerEventUnion
		if err := json.Unmarshal([]byte(ev.RawJSON()), &same); err != nil {
			t.Errorf("event %s: %v", ev.RawJSON(), err)
		}
		if err := collected.AddEvent(same); err != nil {
			t.Errorf("the SDK's accumulator refuses %s: %v", ev.RawJSON(), err)
		}
		switch ev := ev.AsAny().(type) {
		case responses.ResponseTextDeltaEvent:
			h.text += ev.Delta
		case responses.ResponseReasoningSummaryTextDeltaEvent:
			h.thought += ev.Delta
		case responses.ResponseCompletedEvent:
			h.last = ev.Response
		case responses.ResponseIncompleteEvent:
			h.last = ev.Response
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	if text := collected.Snapshot().OutputText(); text != h.text || h.last.OutputText() != h.text {
		t.Errorf("the deltas say %q, the accumulator %q, the last event %q", h.text, text, h.last.OutputText())
	}
	return h
}

func TestResponsesSDKStream(t *testing.T) {
	t.Parallel()
	sdk(t, func(t *testing.T, c openai.Client, s *simulator.Server) {
		h := hearResponses(t, c, respond("reason:tokens=60,reasoning=7,pace=1ms,chunk=7,comments,eol=crlf"))
		rec := settled(t, s)
		if h.text == "" || h.thought == "" || h.last.Status != "completed" || rec.Outcome != simulator.Served {
			t.Errorf("heard %+v, ledger %+v", h, rec)
		}
		if u := h.last.Usage; u.OutputTokens != 67 || u.OutputTokensDetails.ReasoningTokens != 7 || rec.Usage[llm.Output] != 60 {
			t.Errorf("usage %+v, ledger %v", u, rec.Usage)
		}
		if rec.Reported == nil || *rec.Reported != rec.Usage {
			t.Errorf("the ledger says that %v was told, want %v", rec.Reported, rec.Usage)
		}
		if out := h.last.Output; len(out) != 2 || out[0].Summary[0].Text != h.thought {
			t.Errorf("output %s", h.last.RawJSON())
		}
		if h := hearResponses(t, c, respond("chat:fault=content-filter")); h.last.IncompleteDetails.Reason != "content_filter" {
			t.Errorf("filtered: %s", h.last.RawJSON())
		}
	})
}

func TestResponsesSDKErrors(t *testing.T) {
	t.Parallel()
	sdk(t, func(t *testing.T, c openai.Client, _ *simulator.Server) {
		for _, tt := range []struct {
			model, key string
			status     int
			code       string
		}{
			{"chat:fault=context-length", "sk-right", 400, "context_length_exceeded"},
			{"chat", "sk-wrong", 401, "invalid_api_key"},
			{"gpt-5", "sk-right", 404, "model_not_found"},
			{"chat:status=429", "sk-right", 429, "rate_limit_exceeded"},
			{"chat:fault=quota", "sk-right", 429, "insufficient_quota"},
			{"chat:status=500", "sk-right", 500, "internal_error"},
		} {
			_, err := c.Responses.New(context.Background(), respond(tt.model), option.WithAPIKey(tt.key))
			var got *openai.Error
			if !errors.As(err, &got) || got.StatusCode != tt.status || got.Code != tt.code || got.Message == "" {
				t.Errorf("%s: got %v, want %d %q", tt.model, err, tt.status, tt.code)
			}
		}
	})
}
