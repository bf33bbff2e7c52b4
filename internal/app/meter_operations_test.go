package app_test

import (
	"net/http"
	"strings"
	"testing"

	"weir/internal/ledger"
	"weir/internal/simulator"
)

// TestMeterOfEmbeddings holds what vectors are charged against what providers of
// each wire format served and told, and who reached none is not charged.
func TestMeterOfEmbeddings(t *testing.T) {
	t.Parallel()
	for name, prefix := range embedders {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			up := newUpstream(t)
			h := open(t, setup{yaml: "providers:" + spokenBy("house", name, up.url, prefix) + "prices:\n  house/*: {input: \"3\", output: \"11\"}\n"})
			for _, option := range []string{"", ":usage=missing", ":usage=none", ":usage=zero", ":usage=negative", ":usage=huge", ":usage=float", ":status=500", ":fault=reset"} {
				r := h.do(vendorEmbed(`{"model":"house/chat` + option + `","input":"one two three four five six"}`))
				row, record := h.entry(t, r.header.Get("X-Request-Id")), up.newest(t)
				checkEmbedding(t, option, r, &row, &record)
			}
			h.verify(t)
		})
	}
}

func checkEmbedding(t *testing.T, option string, r reply, row *ledger.Entry, record *simulator.Record) {
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
		t.Errorf("%q: %+v, told %v", option, row.Settlement, record.Reported)
	}
	told := r.header.Get("X-Weir-Cost-USD")
	if row.Usage.OutputTokens() != 0 || row.Hold < row.Cost || told != row.Cost.String() || strings.Contains(r.body, `"cost"`) && !strings.Contains(r.body, `"cost":`+told) {
		t.Errorf("%q: %+v of a hold of $%s; told $%s: %s", option, row.Settlement, row.Hold, told, r.body)
	}
}

// TestFallbackBesideChat lets a provider fail behind the upload of a recording:
// it may have heard all of it, and is charged, as is the one that answers.
func TestFallbackBesideChat(t *testing.T) {
	t.Parallel()
	h := openMedia(t)
	r := h.transcribe("/v1/audio/transcriptions", wav(2), "model", "heard")
	if got := r.header; r.status != http.StatusOK || got.Get("X-Weir-Attempts") != "2" || got.Get("X-Weir-Cost-USD") != "0.0004" || !strings.Contains(r.body, `"cost":0.0004`) {
		t.Errorf("status %d, %v, %s", r.status, r.header, r.body)
	}
	rows := h.countedRows(t, r)
	if len(rows) != 2 || rows[0].outcome != "failed" || rows[0].provenance != "estimated" || rows[0].cost != "0.0002" || rows[0].counts || sumOfCosts(t, rows) != "0.0004" {
		t.Errorf("rows %+v", rows)
	}
	h.verify(t)
}

// TestReplayBesideChat replays what is not chat, byte for byte and once charged.
func TestReplayBesideChat(t *testing.T) {
	t.Parallel()
	h := openMedia(t)
	for name, ask := range map[string]func() *http.Request{
		"images": func() *http.Request {
			return h.request(keyed("/v1/images/generations", `{"model":"house/paint-untold","prompt":"A weir"}`, "images"))
		},
		"speech": func() *http.Request {
			return h.request(keyed("/v1/audio/speech", `{"model":"house/sound","voice":"alloy","input":"Hello"}`, "speech"))
		},
		"transcription": func() *http.Request { // with another boundary each time, as SDKs send it again
			r := h.formRequest("/v1/audio/transcriptions", "file", wav(2), "model", "house/rounded")
			r.Header.Set("Idempotency-Key", "transcription")
			return r
		},
	} {
		first, second := h.send(ask()), h.send(ask())
		if first.status != http.StatusOK || second.header.Get("Idempotent-Replayed") != "true" || second.body != first.body {
			t.Errorf("%s: %d %q, then %d %q", name, first.status, first.body, second.status, second.body)
		}
		for _, header := range []string{"Content-Type", "X-Weir-Cost-USD", "X-Request-Id", "X-Weir-Attempts"} {
			if got, want := second.header.Get(header), first.header.Get(header); got != want {
				t.Errorf("%s: %s %q, then %q", name, header, want, got)
			}
		}
	}
	other := h.formRequest("/v1/audio/transcriptions", "file", wav(1), "model", "house/rounded")
	other.Header.Set("Idempotency-Key", "transcription")
	if r := h.send(other); r.status != http.StatusConflict {
		t.Errorf("another recording: %d %s", r.status, r.body)
	}
	if page := h.uses(""); page.Total.Requests != "3" {
		t.Errorf("used %+v, want 3 requests", page.Total)
	}
}

// TestHoldOfRescue holds the hold of an attempt that goes on behind the words of
// another against what it costs: they are its input.
func TestHoldOfRescue(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	second := strings.Replace(spokenBy("human", "anthropic", up.url, "/v1"), "retries: 0", "retries: 0\n    prefill: yes", 1)
	h := open(t, setup{yaml: "providers:" + providerYAML("house", up.url) + second +
		"prices:\n  house/*: {input: \"3\", output: \"11\"}\n  human/*: {input: \"3\", output: \"0\"}\n" +
		"aliases:\n  tale: {targets: [\"house/story:fault=cut,at=500,tokens=700\", \"human/story:tokens=700\"]}\n"})
	r := h.stream("tale")
	got := h.entry(t, r.header.Get("X-Request-Id"))
	if got.ID.N != 2 || got.Outcome != ledger.OutcomeOK || got.Usage.InputTokens() < 300 || got.Hold < got.Cost {
		t.Errorf("attempt %d, held $%s: %+v", got.ID.N, got.Hold, got.Settlement)
	}
}
