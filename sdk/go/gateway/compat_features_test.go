package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"weir/internal/e2e/harness"
	"weir/internal/llm"
	"weir/internal/simulator"
)

// feature describes a column of the table: a function of programs, run with each SDK through each provider. Its error
// is the limit of the cell: a *refusal, the gateway's own 400, or lacks, a reported loss.
type feature struct {
	name  string
	check func(c *cell) error
}

// features returns the columns. A new one is one line here, and a field of sdkQuestion.
func features() []feature {
	return []feature{
		{"plain", checkPlain},
		{"streaming", checkStreaming},
		{"tools in parallel", checkTools},
		{"structured output", checkSchema},
		{"image inline", checkInline},
		{"image by URL", checkAddress},
		{"thinking shown", checkThinking},
		{"thinking sent back", checkThinkingBack},
		{"embeddings", checkEmbeddings},
		{"error classes", checkErrors},
		{"error in mid-stream", checkBrokenStream},
		{"abort", checkAbort},
	}
}

// refusal is the gateway's own 400 for a request that a wire format cannot carry.
type refusal struct{ raised }

func (r *refusal) Error() string { return r.message }

// refused converts the SDK's error with status 400 to the gateway's refusal.
func (c *cell) refused(err error) error {
	r, ok := c.client.raised(err)
	if !ok || r.status != http.StatusBadRequest {
		return err
	}
	for seen := range c.gateway.up.Ledger().Records(0) {
		if strings.HasSuffix(seen.Model, "seed="+c.seed) && seen.Outcome == simulator.Rejected {
			return err // the provider's refusal, not the gateway's
		}
	}
	return &refusal{r}
}

func checkPlain(c *cell) error {
	got, err := c.ask(sdkQuestion{model: c.model("echo")})
	if err != nil {
		return err
	}
	if got.text != firstWords || got.finish != c.ends().stop {
		c.t.Errorf("got %q, finish %q", got.text, got.finish)
	}
	c.checkUsage(&got)
	return nil
}

// ends returns the vendor's finish reasons.
func (c *cell) ends() (e struct{ stop, calls string }) {
	switch c.client.clientAPI {
	case "openai":
		e.stop, e.calls = "stop", "tool_calls"
	case "responses":
		e.stop, e.calls = "completed", "completed"
	case "anthropic":
		e.stop, e.calls = "end_turn", "tool_use"
	case "gemini":
		e.stop, e.calls = "STOP", "STOP"
	}
	return e
}

// checkUsage compares the tokens and cost in the SDK's answer with the provider's own books. Google's SDK has no place
// for the cost.
func (c *cell) checkUsage(got *heard) {
	c.t.Helper()
	truth := c.served().Usage
	if got.in != truth.InputTokens() || got.out != truth.OutputTokens() {
		c.t.Errorf("reported %d and %d tokens, truly %d and %d", got.in, got.out, truth.InputTokens(), truth.OutputTokens())
	}
	u := harness.Folded(c.provider, truth, harness.Folds)
	want := harness.CostOf(&u).String()
	if c.client.clientAPI != "gemini" && got.cost != want {
		c.t.Errorf("usage.cost %q, want %q", got.cost, want)
	}
	if header := got.header.Get("X-Weir-Cost-USD"); got.pieces == 0 && header != want {
		c.t.Errorf("X-Weir-Cost-USD %q, want %q", header, want)
	}
}

func checkStreaming(c *cell) error {
	q := sdkQuestion{model: c.model("story:tokens=40")}
	whole, err := c.ask(q)
	if err != nil {
		return err
	}
	q.stream = true
	got, err := c.ask(q)
	if err != nil {
		return err
	}
	if got.text != whole.text || got.text == "" || got.finish != whole.finish {
		c.t.Errorf("the stream has %q, %q; whole it is %q, %q", got.text, got.finish, whole.text, whole.finish)
	}
	if got.pieces != 40 {
		c.t.Errorf("%d pieces, want each of the provider's 40", got.pieces)
	}
	c.checkUsage(&got)
	return nil
}

func checkTools(c *cell) error {
	for _, stream := range []bool{false, true} {
		q := sdkQuestion{model: c.model("tools:calls=2"), tool: true, stream: stream}
		first, err := c.ask(q)
		if err != nil {
			return err
		}
		c.checkCalls(&first)
		q.after = &first
		second, err := c.ask(q)
		if err != nil {
			return err
		}
		if want := "The tool said: " + weatherResult; !strings.Contains(second.text, want) || second.finish != c.ends().stop {
			c.t.Errorf("stream %t: with the results the answer is %q, finish %q; want %q", stream, second.text, second.finish, want)
		}
		if n := strings.Count(c.sent(), weatherResult); n < 2 {
			c.t.Errorf("stream %t: %d results reached the provider, want 2: %s", stream, n, c.sent())
		}
	}
	return nil
}

func (c *cell) checkCalls(h *heard) {
	c.t.Helper()
	alike := len(h.calls) == 2 && h.calls[0].id == h.calls[1].id
	if c.client.clientAPI == "gemini" && c.provider == "gemini" { // it passes unchanged, and Google sends no ids
		alike = false
	}
	if len(h.calls) != 2 || alike || h.finish != c.ends().calls {
		c.t.Fatalf("calls %+v, finish %q; want two with ids of their own", h.calls, h.finish)
	}
	for _, call := range h.calls {
		var arguments struct{ City *string }
		if err := json.Unmarshal([]byte(call.arguments), &arguments); err != nil || arguments.City == nil || call.name != "weather" {
			c.t.Errorf("call %+v does not fit its schema: %v", call, err)
		}
	}
}

func checkSchema(c *cell) error {
	for _, stream := range []bool{false, true} {
		got, err := c.ask(sdkQuestion{model: c.model("json"), schema: true, stream: stream})
		if err != nil {
			return err
		}
		var place struct {
			Name   string
			Height int
		}
		if err := json.Unmarshal([]byte(got.text), &place); err != nil || place.Name == "" || place.Height < 100 {
			c.t.Errorf("stream %t: got %q (%v), want a name and a height from 100", stream, got.text, err)
		}
	}
	return nil
}

// dot is a picture of one pixel.
const dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

func checkInline(c *cell) error { return c.checkImage("data:image/png;base64,"+dot, dot) }

func checkAddress(c *cell) error {
	const address = "https://images.example.com/dot.png"
	return c.checkImage(address, address)
}

// imageTokens is the simulator's count for an image.
const imageTokens = 85

func (c *cell) checkImage(image, content string) error {
	got, err := c.ask(sdkQuestion{model: c.model("echo"), image: image})
	if err != nil {
		return err
	}
	if in := c.served().Usage[llm.Input]; got.text != firstWords || in < imageTokens || !strings.Contains(c.sent(), content) {
		c.t.Errorf("answer %q, %d tokens in, sent %s", got.text, in, c.sent())
	}
	return nil
}

// openThinking is the beginning of the simulator's thinking.
const openThinking = "Thinking:"

func checkThinking(c *cell) error {
	for _, stream := range []bool{false, true} {
		got, err := c.ask(sdkQuestion{model: c.model("reason:tokens=12,reasoning=9"), think: true, stream: stream})
		if err != nil {
			return err
		}
		if !strings.HasPrefix(got.thought, openThinking) || got.text == "" || strings.Contains(got.text, openThinking) {
			c.t.Errorf("stream %t: thought %q, said %q", stream, got.thought, got.text)
		}
		c.checkUsage(&got)
	}
	return nil
}

// signatureStart begins each of the simulator's signatures: "sim" in base64.
const signatureStart = "c2lt"

// signs lists the wire formats in which thinking has a signature that must be returned.
var signs = map[string]bool{"anthropic": true, "bedrock": true, "gemini": true}

// checkThinkingBack sends a second request. If the provider signs its thinking, it must have the signature again,
// otherwise the thinking itself.
func checkThinkingBack(c *cell) error {
	model, sign := "reason:tokens=12,reasoning=9", openThinking
	if signs[c.provider] {
		model, sign = model+",signed", signatureStart
	}
	if c.provider == "bedrock" { // only its Claude models sign
		model = "anthropic.claude-sim/" + model
	}
	for _, stream := range []bool{false, true} {
		q := sdkQuestion{model: c.model(model), think: true, stream: stream}
		first, err := c.ask(q)
		if err != nil {
			return err
		}
		q.after = &first
		second, err := c.ask(q)
		if err != nil {
			return err
		}
		if second.text == "" {
			c.t.Errorf("stream %t: no answer in the second turn", stream)
		}
		dropped := second.header.Get("X-Weir-Dropped")
		switch there := strings.Contains(c.sent(), sign); {
		case !there && strings.Contains(dropped, "reasoning"):
			return lacks("It is left out of the next turn, as `X-Weir-Dropped` says.")
		case !there:
			c.t.Errorf("stream %t: it is lost, and X-Weir-Dropped has %q: %s", stream, dropped, c.sent())
		}
	}
	return nil
}

func checkEmbeddings(c *cell) error {
	if c.client.embed == nil {
		return lacks("The vendor's API has no embeddings.")
	}
	call, _ := c.listen(sdkCall{ctx: c.t.Context(), key: c.gateway.Key})
	got, err := c.client.embed(call, c.model("chat"), []string{"Hello", "Good evening"})
	if err != nil {
		return err
	}
	if len(got.vectors) != 2 || len(got.vectors[0]) != 3 || len(got.vectors[1]) != 3 || slices.Equal(got.vectors[0], got.vectors[1]) {
		c.t.Errorf("got %v, want two vectors of three numbers", got.vectors)
	}
	truth := c.served().Usage
	if c.client.clientAPI != "gemini" && (got.in != truth.InputTokens() || got.cost != harness.CostOf(&truth).String()) {
		c.t.Errorf("reported %d tokens at %s, truly %v", got.in, got.cost, truth)
	}
	return nil
}

// trouble is a request that fails.
type trouble struct {
	name  string // the SDK's class
	model string // of the provider; a full name if it has a slash
	key   string // "bad", "uses" or empty for a good one
	retry string // Retry-After
	once  bool   // the SDK may try twice more, and must not
}

func troubles() []trouble {
	return []trouble{
		{name: "too long", model: "chat:fault=context-length", once: true},
		{name: "bad key", model: "echo", key: "bad", once: true},
		{name: "no permission", model: "echo", key: "uses", once: true},
		{name: "no such model", model: "nobody/x", once: true},
		{name: "no such upstream", model: "chat:status=404", once: true},
		{name: "too many", model: "chat:status=429,retry_after=7", retry: "7"},
		{name: "provider's 500", model: "chat:status=500", once: true},
		{name: "provider's 503", model: "chat:status=503,retry_after=3", retry: "3", once: true},
		{name: "provider's key", model: "chat:status=401", once: true},
	}
}

func checkErrors(c *cell) error {
	for i, trouble := range troubles() {
		for _, stream := range []bool{false, true} {
			c.seed = newSeed() // no failure opens another's circuit
			c.checkTrouble(&trouble, stream, fmt.Sprintf("%d. %s, stream %t", i+1, trouble.name, stream))
		}
	}
	return nil
}

func (c *cell) checkTrouble(x *trouble, stream bool, what string) {
	c.t.Helper()
	call := sdkCall{ctx: c.t.Context(), key: c.gateway.Key}
	switch x.key {
	case "bad":
		call.key = harness.StrangersKey()
	case "uses":
		call.key = c.gateway.onlyUses
	}
	if x.once && c.client.clientAPI != "gemini" { // Google's SDK reads only the status, and by default tries once
		call.retries = 2
	}
	q := sdkQuestion{model: x.model, stream: stream}
	if !strings.Contains(x.model, "/") {
		q.model = c.model(x.model)
	}
	answer, err := c.call(call, q)
	got, ok := c.client.raised(err)
	if !ok {
		c.t.Errorf("%s: got %v, want the SDK's own error", what, err)
		return
	}
	want := c.client.words[x.name]
	if got.status != want.status || got.kind != want.kind || want.code != "" && got.code != want.code || want.param != "" && got.param != want.param || got.message == "" {
		c.t.Errorf("%s: got %+v, want %+v", what, got, want)
	}
	if id := answer.header.Get("X-Request-Id"); got.requestID != id || id == "" {
		c.t.Errorf("%s: the SDK reports the request id %q, want %q", what, got.requestID, id)
	}
	if retry := answer.header.Get("Retry-After"); retry != x.retry {
		c.t.Errorf("%s: Retry-After %q, want %q", what, retry, x.retry)
	}
	if answer.requests != 1 {
		c.t.Errorf("%s: the SDK sent %d requests, want one: nothing is to be had by another", what, answer.requests)
	}
}

func checkBrokenStream(c *cell) error {
	for _, fault := range []string{"error-event", "cut", "eof", "malformed"} {
		c.seed = newSeed()
		pieces := 0
		_, err := c.ask(sdkQuestion{model: c.model("chat:fault=" + fault + ",at=5"), stream: true, perPiece: func() { pieces++ }})
		if err == nil || pieces == 0 {
			c.t.Errorf("%s: %d pieces, then error %v; want some and an error", fault, pieces, err)
		}
	}
	return nil
}

func checkAbort(c *cell) error {
	ctx, cancel := context.WithCancel(c.t.Context())
	defer cancel()
	pieces := 0
	leave := func() {
		if pieces++; pieces == 3 {
			cancel()
		}
	}
	_, err := c.call(sdkCall{ctx: ctx, key: c.gateway.Key}, sdkQuestion{model: c.model("chat:tokens=1000,pace=20ms"), stream: true, perPiece: leave})
	record := c.served()
	if err == nil || pieces < 3 || !record.Canceled || record.Outcome != simulator.ClientGone || record.Pieces > 500 {
		c.t.Errorf("%d pieces, then error %v; the provider has %s after %d pieces", pieces, err, record.Outcome, record.Pieces)
	}
	return nil
}
