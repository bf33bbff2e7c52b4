package meter_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"testing"

	"weir/internal/budget"
	"weir/internal/e2e/harness"
	"weir/internal/ledger"
	"weir/internal/llm"
)

// TestSoundBySecond checks the cost of a chat whose provider charges for sound by the second in addition to tokens
// (https://docs.mistral.ai/models/voxtral-small-25-07, 2026-08-21: 0.004 a minute, 0.1 / 0.4): the usage in the reply,
// or without it at most the sound of the request. A budget holds as much.
func TestSoundBySecond(t *testing.T) {
	t.Parallel()
	const words = `"messages":[{"role":"user","content":"Hi"}]`
	sound := fmt.Sprintf(`"messages":[{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"%s","format":"wav"}}]}]`,
		base64.StdEncoding.EncodeToString(harness.WAV(60)))
	const named = `"messages":[{"role":"user","content":[{"type":"input_audio","input_audio":"https://example.com/minute.mp3"}]}]`
	for _, tt := range []struct {
		name, body, told string
		budget           bool
		provenance       ledger.Provenance
		cost             string
		least, most      string // of the bound; empty for none
	}{
		{"told", sound, `,"prompt_audio_seconds":60`, false, ledger.Exact, "0.00408", "", ""},
		{"told under a budget", sound, `,"prompt_audio_seconds":60`, true, ledger.Exact, "0.00408", "", ""},
		{"told with a fraction", sound, `,"prompt_audio_seconds":60.5`, false, ledger.Exact, "0.004113333", "", ""},
		{"told of no sound in sight", words, `,"prompt_audio_seconds":60`, false, ledger.Exact, "0.00408", "", ""},
		{"none, by a number", words, `,"prompt_audio_seconds":0`, false, ledger.Exact, "0.00008", "", ""},
		{"none, by null", words, `,"prompt_audio_seconds":null`, false, ledger.Exact, "0.00008", "", ""},
		{"none, by an empty object", words, `,"prompt_audio_seconds":{}`, false, ledger.Exact, "0.00008", "", ""},
		{"untold", sound, "", false, ledger.Estimated, "0.00008", "0.00408", "0.01"},
		{"untold under a budget", sound, "", true, ledger.Estimated, "0.00008", "0.00408", "0.01"},
		{"untold, by its address", named, "", false, ledger.Estimated, "0.00008", "0.16", "0.18"}, // 40 minutes at most
	} {
		up := answering(t, http.StatusOK, `{"id":"1","object":"chat.completion","created":1,"model":"voxtral-small-2507","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},`+
			`"finish_reason":"stop"}],"usage":{"prompt_tokens":400,"completion_tokens":100,"total_tokens":500`+tt.told+`}}`)
		h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.ProviderYAML("mistral", up.URL)})
		if tt.budget {
			h.SetBudget(llm.USD, budget.PeriodTotal)
		}
		r := h.Do(harness.Ask{Path: "/v1/chat/completions", Body: `{"model":"mistral/voxtral-small-latest","max_tokens":200,` + tt.body + `}`})
		if r.Status != http.StatusOK {
			t.Errorf("%s: got %d %s, want 200", tt.name, r.Status, r.Body)
			continue
		}
		e := h.Entry(t, r.Header.Get("X-Request-Id"))
		if e.Provenance != tt.provenance || e.Cost.String() != tt.cost || e.Unpriced != 0 {
			t.Errorf("%s: got %s, %s, unpriced %v, want %s, %s", tt.name, e.Provenance, e.Cost, e.Unpriced.Names(), tt.provenance, tt.cost)
		}
		if tt.least == "" && e.AtMost != 0 || tt.least != "" && !within(e.AtMost, tt.least, tt.most) {
			t.Errorf("%s: got %s at most, want %q to %q", tt.name, e.AtMost, tt.least, tt.most)
		}
		if tt.budget && e.Hold < e.MostCost() {
			t.Errorf("%s: got a hold of %s, want %s at least", tt.name, e.Hold, e.MostCost())
		}
	}
}

// within reports whether an amount lies between two.
func within(m llm.Money, least, most string) bool {
	low, err := llm.ParseMoney(least)
	high, e := llm.ParseMoney(most)
	return err == nil && e == nil && m >= low && m <= high
}
