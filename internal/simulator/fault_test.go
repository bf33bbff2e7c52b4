package simulator_test

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"syscall"
	"testing"

	"weir/internal/simulator"
)

// How an exchange ends at the client.
const (
	inOrder = "in order"
	cutOff  = "cut off"
	reset   = "reset"
	slow    = "slow"
)

func (h heard) ending() string {
	switch {
	case h.slow:
		return slow
	case h.err == nil:
		return inOrder
	case errors.Is(h.err, syscall.ECONNRESET):
		return reset
	case errors.Is(h.err, io.EOF), errors.Is(h.err, io.ErrUnexpectedEOF):
		return cutOff
	}
	return h.err.Error()
}

const marker = "data: [DONE]\n\n"

// faultCase holds the outcomes of a model name for a client and in the ledger.
type faultCase struct {
	body    string
	status  int // 0: no answer
	ending  string
	outcome simulator.Outcome
	pieces  int64
	has     string // in the body
	lacks   string
}

var faultCases = []faultCase{
	{whole("chat"), 200, inOrder, simulator.Served, 32, `"content":"Hello! This is a demo`, ""},
	{stream("chat"), 200, inOrder, simulator.Served, 32, marker, ""},

	{whole("chat:fault=reset"), 0, reset, simulator.Cut, 0, "", ""},
	{stream("chat:fault=reset"), 0, reset, simulator.Cut, 0, "", ""},
	{whole("chat:fault=close"), 0, cutOff, simulator.Cut, 0, "", ""},
	{whole("chat:fault=silence"), 0, slow, simulator.Silent, 0, "", ""},
	{stream("chat:fault=silence"), 0, slow, simulator.Silent, 0, "", ""},
	{whole("chat:fault=headers-silence"), 200, slow, simulator.Silent, 0, "", "{"},
	{stream("chat:fault=headers-silence"), 200, slow, simulator.Silent, 0, "", "{"},

	{whole("chat:fault=cut"), 200, cutOff, simulator.Cut, 32, `{"id"`, "usage"},
	{whole("chat:fault=cut,bytes=20"), 200, cutOff, simulator.Cut, 32, `{"id"`, "model"},
	{stream("chat:fault=cut"), 200, cutOff, simulator.Cut, 3, " This", marker},
	{stream("chat:fault=cut,at=0"), 200, cutOff, simulator.Cut, 0, "", "Hello"},
	{stream("chat:fault=cut,at=900"), 200, cutOff, simulator.Cut, 32, "asked", marker},
	{stream("chat:fault=cut,bytes=700"), 200, cutOff, simulator.Cut, -1, "Hello", marker},
	{stream("chat:fault=cut,bytes=1000000"), 200, cutOff, simulator.Cut, 32, "asked", marker},
	{whole("chat:fault=cut-reset"), 200, reset, simulator.Cut, 32, "", "usage"},
	{stream("chat:fault=cut-reset"), 200, reset, simulator.Cut, 3, "", marker},
	{whole("chat:fault=half-close"), 200, cutOff, simulator.Cut, 32, `{"id"`, "usage"},
	{stream("chat:fault=half-close,at=1"), 200, cutOff, simulator.Cut, 1, "Hello", marker},
	{whole("chat:fault=eof"), 200, inOrder, simulator.Cut, 32, `{"id"`, "usage"},
	{stream("chat:fault=eof"), 200, inOrder, simulator.Cut, 3, " This", marker},
	{whole("chat:fault=stall"), 200, slow, simulator.Silent, 32, `{"id"`, "usage"},
	{stream("chat:fault=stall,at=1"), 200, slow, simulator.Silent, 1, "Hello", " This"},
	{stream("chat:fault=slow-loris"), 200, slow, simulator.ClientGone, 1, "d", "data"},
	{whole("chat:fault=error-event"), 500, inOrder, simulator.Rejected, 0, `"error":{`, ""},
	{stream("chat:fault=error-event"), 200, inOrder, simulator.Cut, 3, `"error":{`, marker},
	{stream("chat:fault=no-end"), 200, inOrder, simulator.Broken, 32, `"usage":{`, marker},

	{whole("chat:fault=html"), 200, inOrder, simulator.Broken, 0, "<h1>", "{"},
	{stream("chat:fault=html"), 200, inOrder, simulator.Broken, 0, "<h1>", "{"},
	{whole("chat:fault=json-error"), 200, inOrder, simulator.Broken, 0, `"error":{`, ""},
	{stream("chat:fault=json-error"), 200, inOrder, simulator.Broken, 0, `"error":{`, "data:"},
	{whole("chat:fault=empty"), 200, inOrder, simulator.Broken, 0, "", "{"},
	{stream("chat:fault=empty"), 200, inOrder, simulator.Broken, 0, "", "data"},
	{stream("chat:fault=not-stream"), 200, inOrder, simulator.Broken, 32, `"message":{`, "data:"},
	{whole("chat:fault=no-choices"), 200, inOrder, simulator.Broken, 32, `"usage"`, `"choices"`},
	{stream("chat:fault=no-choices"), 200, inOrder, simulator.Broken, 32, marker, `"choices"`},
	{whole("chat:fault=malformed"), 200, inOrder, simulator.Broken, 32, `{"id"`, `"usage"`},
	{stream("chat:fault=malformed"), 200, inOrder, simulator.Broken, 32, marker, ""},
	{whole("chat:fault=invalid-utf8"), 200, inOrder, simulator.Broken, 32, "\xff\xfe", ""},
	{stream("chat:fault=invalid-utf8"), 200, inOrder, simulator.Broken, 32, "\xff\xfe", ""},
	{whole("chat:fault=long-line,bytes=100000"), 200, inOrder, simulator.Broken, 32, strings.Repeat(" ", 100000), ""},
	{stream("chat:fault=long-line,bytes=100000"), 200, inOrder, simulator.Broken, 32, strings.Repeat("x", 100000), ""},
	{whole("chat:fault=length-short"), 200, inOrder, simulator.Broken, 32, `{"id"`, "usage"},
	{stream("chat:fault=length-short"), 200, inOrder, simulator.Broken, -1, `data: {"id"`, marker},
	{whole("chat:fault=length-long"), 200, cutOff, simulator.Broken, 32, "usage", ""},
	{stream("chat:fault=length-long"), 200, cutOff, simulator.Broken, 32, marker, ""},
	{whole("chat:fault=continue"), 200, inOrder, simulator.Served, 32, "usage", ""},
	{whole("chat:fault=early-hints"), 200, inOrder, simulator.Served, 32, "usage", ""},
	{whole("chat:fault=redirect"), 307, inOrder, simulator.Rejected, 0, "", "{"},

	{whole("chat:fault=content-filter"), 200, inOrder, simulator.Served, 3, `"finish_reason":"content_filter"`, ""},
	{stream("chat:fault=content-filter,at=0"), 200, inOrder, simulator.Served, 0, `"finish_reason":"content_filter"`, ""},
	{whole("chat:fault=refusal"), 200, inOrder, simulator.Served, 32, `"refusal":"Hello!`, ""},
	{stream("chat:fault=refusal"), 200, inOrder, simulator.Served, 32, `"refusal":"Hello"`, ""},
	{whole("chat:fault=context-length"), 400, inOrder, simulator.Rejected, 0, `"code":"context_length_exceeded"`, ""},
	{stream("chat:fault=content-policy"), 400, inOrder, simulator.Rejected, 0, `"code":"content_filter"`, ""},
	{whole("chat:fault=quota"), 429, inOrder, simulator.Rejected, 0, `"code":"insufficient_quota"`, ""},
	{whole("chat:fault=no-prefill"), 200, inOrder, simulator.Served, 32, "usage", ""},
	{prefilled("chat:fault=no-prefill"), 400, inOrder, simulator.Rejected, 0, "prefill", ""},
	{prefilled("chat"), 200, inOrder, simulator.Served, 32, "usage", ""},

	{whole("chat:status=400"), 400, inOrder, simulator.Rejected, 0, `"error":{`, ""},
	{whole("chat:status=401"), 401, inOrder, simulator.Rejected, 0, `"error":{`, ""},
	{whole("chat:status=429"), 429, inOrder, simulator.Rejected, 0, `"error":{`, ""},
	{stream("chat:status=500"), 500, inOrder, simulator.Rejected, 0, `"error":{`, ""},
	{stream("chat:status=502"), 502, inOrder, simulator.Rejected, 0, `"error":{`, ""},
	{stream("chat:status=503"), 503, inOrder, simulator.Rejected, 0, `"error":{`, ""},
	{stream("chat:status=504"), 504, inOrder, simulator.Rejected, 0, `"error":{`, ""},
	{stream("chat:status=529"), 529, inOrder, simulator.Rejected, 0, `"error":{`, ""},
	{stream("chat:ttft=10s"), 0, slow, simulator.ClientGone, 0, "", ""},
	{stream("chat:ttft=10s,early"), 200, slow, simulator.ClientGone, 0, "", "data"},
	{stream("chat:ttft=10s,status=500"), 0, slow, simulator.ClientGone, 0, "", ""},
	{whole("chat:pace=10s"), 0, slow, simulator.ClientGone, 1, "", ""},
	{stream("chat:pace=10s"), 200, slow, simulator.ClientGone, 1, "Hello", " This"},
}

func prefilled(model string) string {
	return `{"model":"` + model + `","messages":[{"role":"user","content":"A"},{"role":"assistant","content":"B"}]}`
}

func TestFaultsOfEachKind(t *testing.T) {
	t.Parallel()
	for _, i := range []int{0, 1} {
		for _, tt := range faultCases {
			t.Run([]string{"socket", "memory"}[i]+"/"+nameOf(tt.body), func(t *testing.T) {
				t.Parallel()
				s := newSimulator(t, simulator.Options{})
				wait := patience
				if tt.ending == slow {
					wait = impatience
				}
				tt.check(t, ways(t, s)[i].askFor(wait, tt.body), settled(t, s))
			})
		}
	}
}

func nameOf(body string) string {
	var b struct {
		Model  string
		Stream bool
	}
	if json.Unmarshal([]byte(body), &b) != nil {
		return body
	}
	if b.Stream {
		return b.Model + "/stream"
	}
	return b.Model + "/whole"
}

func (tt faultCase) check(t *testing.T, got heard, rec simulator.Record) {
	t.Helper()
	if got.status != tt.status || got.ending() != tt.ending {
		t.Errorf("got status %d, ended %s; want %d, %s", got.status, got.ending(), tt.status, tt.ending)
	}
	if !strings.Contains(got.body, tt.has) || tt.lacks != "" && strings.Contains(got.body, tt.lacks) {
		t.Errorf("got body %.2000q, want %.200q in it and not %q", got.body, tt.has, tt.lacks)
	}
	if rec.Outcome != tt.outcome || tt.pieces >= 0 && rec.Pieces != tt.pieces {
		t.Errorf("the record has %s, %d pieces; want %s, %d", rec.Outcome, rec.Pieces, tt.outcome, tt.pieces)
	}
	if got.status != rec.Status && tt.ending != reset {
		t.Errorf("the record has status %d, the client got %d", rec.Status, got.status)
	}
	if want := strings.Contains(got.body, marker); want && !rec.EndMarker {
		t.Errorf("the record has the end marker %v, the client got one", rec.EndMarker)
	}
	if rec.Canceled != (tt.ending == slow) {
		t.Errorf("the record has canceled %v, want %v", rec.Canceled, tt.ending == slow)
	}
	if told := rec.Reported != nil; told != strings.Contains(got.body, `"usage":{`) {
		t.Errorf("the record has usage reported %v; the client got %.2000q", told, got.body)
	}
}
