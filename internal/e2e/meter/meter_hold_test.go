package meter_test

import (
	"fmt"
	"strings"
	"testing"

	"weir/internal/e2e/harness"
	"weir/internal/ledger"
)

// TestHoldOfCaps checks the held output at every client API: the request's cap in the client API's own member, for each
// requested answer.
func TestHoldOfCaps(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	for name, path := range harness.Spoken() {
		h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.SpokenBy("house", name, up.URL, path) + "prices:\n  house/*: {input: \"0\", output: \"1\"}\n"})
		for _, tt := range []struct {
			path, body string
			tokens     int64
			only       string
		}{
			{"/v1/chat", `{"model":"house/chat","max_tokens":50,"messages":[{"role":"user","prompt":"Hi"}]}`, 50, ""},
			{"/v1/chat/completions", `{"model":"house/chat","max_tokens":50,"messages":[{"role":"user","content":"Hi"}]}`, 50, ""},
			{"/v1/chat/completions", `{"model":"house/chat","max_completion_tokens":50,"n":3,"messages":[{"role":"user","content":"Hi"}]}`, 150, "openai gemini"},
			{"/v1/responses", `{"model":"house/chat","max_output_tokens":50,"input":"Hi"}`, 50, ""},
			{"/v1/messages", `{"model":"house/chat","max_tokens":50,"messages":[{"role":"user","content":"Hi"}]}`, 50, ""},
			{"/v1beta/models/house/chat:generateContent", `{"generationConfig":{"maxOutputTokens":50},"contents":[{"parts":[{"text":"Hi"}]}]}`, 50, ""},
			{"/v1beta/models/house/chat:generateContent", `{"generation_config":{"max_output_tokens":50,"candidate_count":3},"contents":[{"parts":[{"text":"Hi"}]}]}`, 150, "openai gemini"},
			{"/v1beta/models/house/chat:generateContent", `{"generationConfig":{"maxOutputTokens":50,"candidateCount":3},"contents":[{"parts":[{"text":"Hi"}]}]}`, 150, "openai gemini"},
		} {
			if tt.only != "" && !strings.Contains(tt.only, name) {
				continue
			}
			r := h.Do(harness.Ask{Path: tt.path, Body: tt.body})
			if r.Status != 200 {
				t.Errorf("%s: %s %s: %d %s", name, tt.path, tt.body, r.Status, r.Body)
				continue
			}
			got := h.Entry(t, r.Header.Get("X-Request-Id"))
			if want := fmt.Sprintf("%f", float64(tt.tokens)/1e6); got.Outcome != ledger.OutcomeOK || strings.TrimRight(want, "0") != got.Hold.String() || got.Hold < got.Cost {
				t.Errorf("%s: %s %s: held $%s, want $%s; %+v", name, tt.path, tt.body, got.Hold, want, got.Settlement)
			}
		}
	}
}

// TestMeterOfFollowUps checks that the conversation that a request continues is metered and held as its input, and that
// a stored response has the reported cost.
func TestMeterOfFollowUps(t *testing.T) {
	t.Parallel()
	for _, speaks := range []string{"responses", "openai", "anthropic"} {
		for _, stream := range []bool{false, true} {
			k := harness.OpenKept(t, speaks, "", nil)
			members, last := fmt.Sprintf(`"stream":%t,"input":"Say all of it again, please, and then once more"`, stream), int64(0)
			for turn, model := range []string{"house/chat", "house/chat", "house/chat:usage=missing", "house/chat:usage=negative"} {
				r := k.Respond(`"model":"` + model + `",` + members)
				object, id := harness.Responded(t, r)
				got := k.Entry(t, r.Header.Get("X-Request-Id"))
				if n := got.Usage.InputTokens(); n <= last || got.Hold < got.Cost || (got.Provenance == ledger.Exact) != (turn < 2) {
					t.Errorf("%s, stream %t, turn %d: held $%s, after %d tokens %+v", speaks, stream, turn, got.Hold, last, got.Settlement)
				}
				last = got.Usage.InputTokens()
				kept := k.Do(harness.Ask{Path: "/v1/responses/" + id})
				told := `"cost":` + got.Cost.String()
				if strings.Contains(object, `"usage":{`) && (!strings.Contains(object, told) || !strings.Contains(kept.Body, told)) {
					t.Errorf("%s, stream %t, turn %d: want %s\ntold %s\nkept %s", speaks, stream, turn, told, object, kept.Body)
				}
				members = fmt.Sprintf(`"stream":%t,"input":"Say all of it again, please, and then once more","previous_response_id":%q`, stream, id)
			}
			k.Verify(t)
		}
	}
}
