package meter_test

import (
	"net/http"
	"strings"
	"testing"

	"weir/internal/e2e/harness"
	"weir/internal/ledger"
	"weir/internal/simulator"
)

// TestMeterOfEmbeddings compares the charge of vectors with the served and reported usage of providers of each wire
// format. A request that reached none is free.
func TestMeterOfEmbeddings(t *testing.T) {
	t.Parallel()
	for name, prefix := range harness.Embedders {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			up := harness.NewUpstream(t)
			h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.SpokenBy("house", name, up.URL, prefix) + "prices:\n  house/*: {input: \"3\", output: \"11\"}\n"})
			for _, option := range []string{"", ":usage=missing", ":usage=none", ":usage=zero", ":usage=negative", ":usage=huge", ":usage=float", ":status=500", ":fault=reset"} {
				r := h.Do(harness.VendorEmbed(`{"model":"house/chat` + option + `","input":"one two three four five six"}`))
				row, record := h.Entry(t, r.Header.Get("X-Request-Id")), up.Newest(t)
				checkEmbedding(t, option, r, &row, &record)
			}
			h.Verify(t)
		})
	}
}

func checkEmbedding(t *testing.T, option string, r harness.Reply, row *ledger.Entry, record *simulator.Record) {
	t.Helper()
	in := row.Usage.InputTokens()
	switch {
	case option == ":status=500":
		if row.Outcome != ledger.OutcomeRejected || row.Cost != 0 {
			t.Errorf("%s: %+v", option, row.Settlement)
		}
		return
	case option == ":fault=reset":
		if row.Outcome != ledger.OutcomeFailed || row.Provenance != ledger.Estimated || in != 6 {
			t.Errorf("%s: %+v", option, row.Settlement)
		}
		return
	case record.Reported == nil:
		if row.Outcome != ledger.OutcomeOK || row.Provenance != ledger.Estimated || in != 6 {
			t.Errorf("%q: %+v", option, row.Settlement)
		}
	case row.Outcome != ledger.OutcomeOK || row.Provenance != ledger.Exact || in != record.Reported.InputTokens():
		t.Errorf("%q: %+v, reported %v", option, row.Settlement, record.Reported)
	}
	told := r.Header.Get("X-Weir-Cost-USD")
	if row.Usage.OutputTokens() != 0 || row.Hold < row.Cost || told != row.Cost.String() || strings.Contains(r.Body, `"cost"`) && !strings.Contains(r.Body, `"cost":`+told) {
		t.Errorf("%q: %+v of a hold of $%s; reported $%s: %s", option, row.Settlement, row.Hold, told, r.Body)
	}
}

// TestFallbackOfOtherOperations has a provider fail after the upload of a recording: it may have heard all of it, and
// is charged, like the one that answers.
func TestFallbackOfOtherOperations(t *testing.T) {
	t.Parallel()
	h := openMedia(t)
	r := h.Transcribe("/v1/audio/transcriptions", harness.WAV(2), "model", "heard")
	if got := r.Header; r.Status != http.StatusOK || got.Get("X-Weir-Attempts") != "2" || got.Get("X-Weir-Cost-USD") != "0.0004" || !strings.Contains(r.Body, `"cost":0.0004`) {
		t.Errorf("status %d, %v, %s", r.Status, r.Header, r.Body)
	}
	rows := h.CountedRows(t, r)
	if len(rows) != 2 || rows[0].Outcome != "failed" || rows[0].Provenance != "estimated" || rows[0].Cost != "0.0002" || rows[0].Counts || harness.SumOfCosts(t, rows) != "0.0004" {
		t.Errorf("rows %+v", rows)
	}
	h.Verify(t)
}

// TestReplayOfOtherOperations replays answers of operations other than chat, byte for byte and charged once.
func TestReplayOfOtherOperations(t *testing.T) {
	t.Parallel()
	h := openMedia(t)
	for name, ask := range map[string]func() *http.Request{
		"images": func() *http.Request {
			return h.Request(harness.Keyed("/v1/images/generations", `{"model":"house/paint-untold","prompt":"A weir"}`, "images"))
		},
		"speech": func() *http.Request {
			return h.Request(harness.Keyed("/v1/audio/speech", `{"model":"house/sound","voice":"alloy","input":"Hello"}`, "speech"))
		},
		"transcription": func() *http.Request { // with another boundary each time, as SDKs send it again
			r := h.FormRequest("/v1/audio/transcriptions", "file", harness.WAV(2), "model", "house/rounded")
			r.Header.Set("Idempotency-Key", "transcription")
			return r
		},
	} {
		first, second := h.Send(ask()), h.Send(ask())
		if first.Status != http.StatusOK || second.Header.Get("Idempotent-Replayed") != "true" || second.Body != first.Body {
			t.Errorf("%s: %d %q, then %d %q", name, first.Status, first.Body, second.Status, second.Body)
		}
		for _, header := range []string{"Content-Type", "X-Weir-Cost-USD", "X-Request-Id", "X-Weir-Attempts"} {
			if got, want := second.Header.Get(header), first.Header.Get(header); got != want {
				t.Errorf("%s: %s %q, then %q", name, header, want, got)
			}
		}
	}
	other := h.FormRequest("/v1/audio/transcriptions", "file", harness.WAV(1), "model", "house/rounded")
	other.Header.Set("Idempotency-Key", "transcription")
	if r := h.Send(other); r.Status != http.StatusConflict {
		t.Errorf("another recording: %d %s", r.Status, r.Body)
	}
	if page := h.Uses(""); page.Total.Requests != "3" {
		t.Errorf("used %+v, want 3 requests", page.Total)
	}
}

// TestHoldOfRescue compares the hold of an attempt that continues another's text with its cost: that text is its input.
func TestHoldOfRescue(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	second := strings.Replace(harness.SpokenBy("human", "anthropic", up.URL, "/v1"), "retries: 0", "retries: 0\n    prefill: yes", 1)
	h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.ProviderYAML("house", up.URL) + second +
		"prices:\n  house/*: {input: \"3\", output: \"11\"}\n  human/*: {input: \"3\", output: \"0\"}\n" +
		"aliases:\n  tale: {targets: [\"house/story:fault=cut,at=500,tokens=700\", \"human/story:tokens=700\"]}\n"})
	r := h.Stream("tale")
	got := h.Entry(t, r.Header.Get("X-Request-Id"))
	if got.ID.N != 2 || got.Outcome != ledger.OutcomeOK || got.Usage.InputTokens() < 300 || got.Hold < got.Cost {
		t.Errorf("attempt %d, held $%s: %+v", got.ID.N, got.Hold, got.Settlement)
	}
}
