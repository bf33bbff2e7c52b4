package app_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/app"
	"weir/internal/ledger"
)

// usageAPIs are the client APIs at which usage is told in a vendor's own words: the
// wire format of each, by the path of its front.
var usageAPIs = map[string]string{"/v1/responses": "responses", "/v1/messages": "anthropic", "/v1beta/models/{model}:generateContent": "gemini"}

// TestMeterAtVendorAPIs holds the books against what providers of each wire
// format truly served, and what clients of the vendors' client APIs are told of it
// against the books.
func TestMeterAtVendorAPIs(t *testing.T) {
	t.Parallel()
	for name, path := range spoken() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			up := newUpstream(t)
			h := open(t, setup{yaml: "providers:" + spokenBy("house", name, up.url, path) + "prices:\n  house/*: " + ratesYAML + "\n"})
			h.setOnDisconnect(account.DisconnectCancel)
			var all, gone []*exchange
			for _, f := range chatAPIs() {
				if usageAPIs[f.path] != "" {
					all = append(all, h.meterAPI(name, &f, len(all))...)
					gone = append(gone, h.leaveAPI(t, up, name, &f, len(gone))...)
				}
			}
			h.enter(t, up, all)
			h.enter(t, up, gone)
			for _, x := range all {
				x.check(t)
			}
			for _, x := range gone {
				x.checkGone(t)
			}
			h.checkUses(t, slices.Concat(all, gone))
			h.verify(t)
		})
	}
}

func (h *testGateway) meterAPI(dialect string, f *chatAPI, seed int) (all []*exchange) {
	h.t.Helper()
	for _, m := range meteredAnswers() {
		kind := ""
		switch m.members {
		case "":
		case weather:
			kind = "tools"
		default:
			continue // said otherwise at each client API
		}
		for _, stream := range []bool{false, true} {
			if m.broken && !stream && strings.Contains(m.model, "error-event") {
				continue
			}
			x := &exchange{metered: m, dialect: dialect, path: f.path, stream: stream}
			x.model += ",seed=" + strconv.Itoa(seed+len(all))
			a, _ := f.ask(kind, "house/"+x.model, stream)
			x.reply = h.do(a)
			all = append(all, x)
		}
	}
	return all
}

func (h *testGateway) leaveAPI(t *testing.T, up *upstream, dialect string, f *chatAPI, seed int) (all []*exchange) {
	t.Helper()
	for _, stream := range []bool{false, true} {
		x := &exchange{dialect: dialect, path: f.path, stream: stream}
		x.model = fmt.Sprintf("chat:tokens=1000,pace=5ms,prompt=500,cached=200,seed=%d", 1000+seed)
		a, _ := f.ask("", "house/"+x.model, stream)
		lines := 0
		if stream {
			lines = 21
		}
		h.leave(a, up, lines)
		record := up.newest(t)
		x.reply.header = map[string][]string{"X-Request-Id": {requestOf(&record)}}
		all = append(all, x)
	}
	return all
}

// verify holds the sums of the database against its rows.
func (h *testGateway) verify(t *testing.T) {
	t.Helper()
	data, err := app.OpenData(t.Context(), h.config(), discard())
	if err != nil {
		t.Fatalf("open data: %v", err)
	}
	defer data.Close()
	v, left, err := data.Verify(t.Context(), app.VerifyOptions{Wait: 10 * time.Second})
	if err != nil || len(v.Differences) != 0 || left != (ledger.Backlog{}) {
		t.Errorf("verified: %+v, not projected %+v, %v", v, left, err)
	}
}

// vendorUsage is a usage object at a vendor's client API, by any of their names.
type vendorUsage struct {
	Input        int64 `json:"input_tokens"`
	Output       int64 `json:"output_tokens"`
	Total        int64 `json:"total_tokens"`
	CacheRead    int64 `json:"cache_read_input_tokens"`
	CacheWrite   int64 `json:"cache_creation_input_tokens"`
	InputDetails struct {
		Cached int64 `json:"cached_tokens"`
	} `json:"input_tokens_details"`
	OutputDetails struct {
		Reasoning int64 `json:"reasoning_tokens"`
		Thinking  int64 `json:"thinking_tokens"`
	} `json:"output_tokens_details"`

	Prompt     int64 `json:"promptTokenCount"`
	Tool       int64 `json:"toolUsePromptTokenCount"`
	Candidates int64 `json:"candidatesTokenCount"`
	Thoughts   int64 `json:"thoughtsTokenCount"`
	Cached     int64 `json:"cachedContentTokenCount"`
	AllTokens  int64 `json:"totalTokenCount"`

	Cost json.Number `json:"cost"`
}

// vendorTold is what was told last at a vendor's client API, in the words of OpenAI;
// nil for nothing.
func vendorTold(dialect, body string) *toldUsage {
	var last *vendorUsage
	for line := range strings.SplitSeq(body, "\n") {
		data, _ := strings.CutPrefix(line, "data: ")
		var piece struct {
			Usage    *vendorUsage
			Response struct{ Usage *vendorUsage }
			Metadata *vendorUsage `json:"usageMetadata"`
		}
		if json.Unmarshal([]byte(data), &piece) != nil {
			continue
		}
		for _, u := range []*vendorUsage{piece.Usage, piece.Response.Usage, piece.Metadata} {
			if u != nil {
				last = u
			}
		}
	}
	if last == nil {
		return nil
	}
	return last.inWordsOf(dialect)
}

func (u *vendorUsage) inWordsOf(dialect string) *toldUsage {
	told := &toldUsage{Cost: u.Cost}
	cached, reasoning := u.InputDetails.Cached, u.OutputDetails.Reasoning
	switch dialect {
	case "responses":
		told.tokens = tokens{u.Input, u.Output, u.Total}
	case "anthropic":
		cached, reasoning = u.CacheRead, u.OutputDetails.Thinking
		in := u.Input + u.CacheRead + u.CacheWrite
		told.tokens = tokens{in, u.Output, in + u.Output}
	case "gemini":
		cached, reasoning = u.Cached, u.Thoughts
		told.tokens = tokens{u.Prompt + u.Tool, u.Candidates + u.Thoughts, u.AllTokens}
	}
	told.PromptDetails = &struct {
		Cached int64 `json:"cached_tokens"`
	}{cached}
	told.CompletionDetails = &struct {
		Reasoning int64 `json:"reasoning_tokens"`
	}{reasoning}
	return told
}
