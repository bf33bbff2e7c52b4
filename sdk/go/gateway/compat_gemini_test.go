package gateway_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"

	"google.golang.org/genai"
)

func geminiSDK() *sdkClient {
	return &sdkClient{clientAPI: "gemini", ask: askGemini, embed: embedGemini, raised: raisedGemini, words: map[string]raised{
		// https://ai.google.dev/gemini-api/docs/troubleshooting
		"too long":         {status: 400, kind: "INVALID_ARGUMENT"},
		"bad key":          {status: 401, kind: "UNAUTHENTICATED"},
		"no permission":    {status: 403, kind: "PERMISSION_DENIED"},
		"no such model":    {status: 404, kind: "NOT_FOUND", param: "model"},
		"too many":         {status: 429, kind: "RESOURCE_EXHAUSTED"},
		"provider's 500":   {status: 502, kind: "INTERNAL"},
		"provider's 503":   {status: 503, kind: "UNAVAILABLE"},
		"provider's key":   {status: 502, kind: "INTERNAL"},
		"no such upstream": {status: 404, kind: "NOT_FOUND"},
	}}
}

func geminiClient(c sdkCall) (*genai.Client, error) {
	config := &genai.ClientConfig{
		Backend: genai.BackendGeminiAPI, APIKey: c.key, HTTPClient: c.client,
		HTTPOptions: genai.HTTPOptions{BaseURL: c.url},
	}
	if c.retries > 0 {
		config.HTTPOptions.RetryOptions = &genai.HTTPRetryOptions{Attempts: genai.Ptr(int32(c.retries + 1)), InitialDelay: genai.Ptr(0.01)}
	}
	return genai.NewClient(c.ctx, config)
}

func geminiContents(q sdkQuestion) ([]*genai.Content, error) {
	first := genai.NewContentFromText(firstWords, genai.RoleUser)
	if mime, data, ok := cutData(q.image); ok {
		raw, err := base64.StdEncoding.DecodeString(data)
		if err != nil {
			return nil, err
		}
		first.Parts = append(first.Parts, genai.NewPartFromBytes(raw, mime))
	} else if q.image != "" {
		first.Parts = append(first.Parts, genai.NewPartFromURI(q.image, "image/png"))
	}
	contents := []*genai.Content{first}
	if q.after != nil {
		next := &genai.Content{Role: genai.RoleUser}
		for _, call := range q.after.calls {
			next.Parts = append(next.Parts, &genai.Part{FunctionResponse: &genai.FunctionResponse{
				ID: call.id, Name: call.name, Response: map[string]any{"output": weatherResult},
			}})
		}
		if len(next.Parts) == 0 {
			next.Parts = append(next.Parts, genai.NewPartFromText("Go on"))
		}
		contents = append(contents, q.after.turn.(*genai.Content), next)
	}
	return contents, nil
}

func geminiConfig(q sdkQuestion) *genai.GenerateContentConfig {
	config := &genai.GenerateContentConfig{}
	if q.tool {
		config.Tools = []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{{Name: "weather", ParametersJsonSchema: weatherSchema()}}}}
	}
	if q.schema {
		config.ResponseMIMEType, config.ResponseJsonSchema = "application/json", placeSchema()
	}
	if q.think {
		config.ThinkingConfig = &genai.ThinkingConfig{IncludeThoughts: true, ThinkingBudget: genai.Ptr[int32](2048)}
	}
	return config
}

func askGemini(c sdkCall, q sdkQuestion) (h heard, err error) {
	client, err := geminiClient(c)
	if err != nil {
		return h, err
	}
	contents, err := geminiContents(q)
	if err != nil {
		return h, err
	}
	turn := &genai.Content{Role: genai.RoleModel}
	h.turn = turn
	if !q.stream {
		whole, err := client.Models.GenerateContent(c.ctx, q.model, contents, geminiConfig(q))
		if err != nil {
			return h, err
		}
		h.addGemini(whole, turn, &q)
		return h, nil
	}
	for r, err := range client.Models.GenerateContentStream(c.ctx, q.model, contents, geminiConfig(q)) {
		if err != nil {
			return h, err
		}
		h.addGemini(r, turn, &q)
	}
	return h, nil
}

func embedGemini(c sdkCall, model string, texts []string) (e embedded, err error) {
	client, err := geminiClient(c)
	if err != nil {
		return e, err
	}
	var contents []*genai.Content
	for _, text := range texts {
		contents = append(contents, genai.NewContentFromText(text, genai.RoleUser))
	}
	got, err := client.Models.EmbedContent(c.ctx, model, contents, &genai.EmbedContentConfig{OutputDimensionality: genai.Ptr[int32](3)})
	if err != nil {
		return e, err
	}
	for _, v := range got.Embeddings {
		var numbers []float64
		for _, n := range v.Values {
			numbers = append(numbers, float64(n))
		}
		e.vectors = append(e.vectors, numbers)
	}
	return e, nil
}

// addGemini adds a whole answer, or a piece of a streamed one.
func (h *heard) addGemini(r *genai.GenerateContentResponse, turn *genai.Content, q *sdkQuestion) {
	if u := r.UsageMetadata; u != nil {
		h.in, h.out = int64(u.PromptTokenCount), int64(u.CandidatesTokenCount)+int64(u.ThoughtsTokenCount)
	}
	for _, candidate := range r.Candidates {
		if candidate.FinishReason != "" {
			h.finish = string(candidate.FinishReason)
		}
		if candidate.Content == nil {
			continue
		}
		for _, p := range candidate.Content.Parts {
			appendPart(turn, p)
			switch {
			case p.FunctionCall != nil:
				arguments, _ := json.Marshal(p.FunctionCall.Args) // of a decoded object
				h.calls = append(h.calls, called{p.FunctionCall.ID, p.FunctionCall.Name, string(arguments)})
			case p.Thought:
				h.thought += p.Text
			case p.Text != "":
				h.text += p.Text
				h.pieces++
				q.piece()
			}
		}
	}
}

// appendPart adds a part to a message. Pieces of one thought become one part, and empty texts are removed because they
// cannot be sent.
func appendPart(turn *genai.Content, p *genai.Part) {
	if p.Text == "" && p.FunctionCall == nil && len(p.ThoughtSignature) == 0 {
		return
	}
	if n := len(turn.Parts); n > 0 && p.Thought && turn.Parts[n-1].Thought {
		last := turn.Parts[n-1]
		last.Text += p.Text
		last.ThoughtSignature = append(last.ThoughtSignature, p.ThoughtSignature...)
		return
	}
	turn.Parts = append(turn.Parts, p)
}

func raisedGemini(err error) (raised, bool) {
	e, ok := errors.AsType[genai.APIError](err)
	if !ok {
		return raised{}, false
	}
	r := raised{status: e.Code, kind: e.Status, message: e.Message}
	for _, d := range e.Details {
		if id, ok := d["requestId"].(string); ok {
			r.requestID = id
		}
		violations, _ := d["fieldViolations"].([]any)
		for _, v := range violations {
			r.param, _ = v.(map[string]any)["field"].(string)
		}
	}
	return r, true
}
